type Pace = {
  /**
   * The next round trip begins a turn of the event loop after the reply to the last one. No call waits longer than this
   * for another round trip. `Infinity` for one round trip at a time. Default: 5.
   */
  readonly maxWaitMs?: number;
  /** Whether the next one begins that long after the last one even if the reply comes earlier. Default: no. */
  readonly alwaysWaits?: boolean;
  /** How many calls share a round trip at most. Default: 1,000; so many pets of the greatest size make 1.3 MB. */
  readonly maxCalls?: number;
};

type Batch<Item, Reply> = PromiseWithResolvers<Reply> & { readonly items: Item[] };

/**
 * Sends calls together: a round trip costs a driver the same CPU time, however many calls share it. A call goes at once
 * if no other is under way. Calls that come during a round trip share the next one, see {@link Pace}: no call waits long
 * for a slow or broken connection.
 *
 * A call never shares a round trip that began before the call.
 */
export class Batcher<Item, Reply> {
  readonly #send: (items: readonly Item[]) => Promise<Reply>;
  readonly #pace: Required<Pace>;
  readonly #waiting: Batch<Item, Reply>[] = [];
  /** The latest round trip, while it delays the next one. */
  #underWay: Promise<Reply> | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param send makes one round trip. Its result is for all the items: the callers find their own part. */
  constructor(
    send: (items: readonly Item[]) => Promise<Reply>,
    { maxWaitMs = 5, alwaysWaits = false, maxCalls = 1_000 }: Pace = {},
  ) {
    this.#send = send;
    this.#pace = { maxWaitMs, alwaysWaits, maxCalls };
  }

  /** Whether no call waits and no round trip delays the next one. */
  get isIdle(): boolean {
    return this.#underWay === undefined && this.#waiting.length === 0;
  }

  /** Resolves or rejects as the round trip of the item does. */
  add(item: Item): Promise<Reply> {
    let batch = this.#waiting.at(-1);
    if (batch === undefined || batch.items.length === this.#pace.maxCalls) {
      batch = { items: [], ...Promise.withResolvers<Reply>() };
      if (this.#waiting.push(batch) === 1) this.#schedule();
    }
    batch.items.push(item);
    return batch.promise;
  }

  #schedule(): void {
    const { maxWaitMs, alwaysWaits } = this.#pace;
    const sendNext = () => this.#sendNext();
    // Calls that are made in one go share the first round trip.
    if (this.#underWay === undefined) queueMicrotask(sendNext);
    else if (!alwaysWaits && maxWaitMs !== Infinity) this.#timer = setTimeout(sendNext, maxWaitMs);
  }

  #sendNext(): void {
    const batch = this.#waiting.shift();
    if (batch === undefined) return;
    const reply = this.#send(batch.items);
    this.#underWay = reply;
    const end = () => {
      if (this.#underWay !== reply) return;
      this.#underWay = undefined;
      clearTimeout(this.#timer);
      // What else arrives in this turn of the event loop comes along.
      if (this.#waiting.length > 0) setImmediate(() => this.#sendNext());
    };
    if (this.#pace.alwaysWaits) setTimeout(end, this.#pace.maxWaitMs);
    else reply.then(end, end);
    batch.resolve(reply);
    if (this.#waiting.length > 0) this.#schedule();
  }
}
