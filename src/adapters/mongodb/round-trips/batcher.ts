type Pace = {
  /** How long a round trip may delay the next one. `Infinity`: one round trip at a time. Default: 5. */
  readonly maxWaitMs?: number;
  /** Whether it waits for `maxWaitMs` even after an early reply. Default: no. */
  readonly alwaysWaits?: boolean;
  /** Default: 1,000 calls, which return 1.3 MB for pets of the greatest size. */
  readonly maxCalls?: number;
};

type Batch<Item, Reply> = PromiseWithResolvers<Reply> & { readonly items: Item[] };

/**
 * Calls that come during a round trip share the next one. For the driver, it costs the CPU time of a single call. A
 * call never shares a round trip that began before the call.
 */
export class Batcher<Item, Reply> {
  readonly #send: (items: readonly Item[]) => Promise<Reply>;
  readonly #pace: Required<Pace>;
  readonly #waiting: Batch<Item, Reply>[] = [];
  #pendingReply: Promise<Reply> | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param send makes one round trip, with one result for all items */
  constructor(
    send: (items: readonly Item[]) => Promise<Reply>,
    { maxWaitMs = 5, alwaysWaits = false, maxCalls = 1_000 }: Pace = {},
  ) {
    this.#send = send;
    this.#pace = { maxWaitMs, alwaysWaits, maxCalls };
  }

  get isIdle(): boolean {
    return this.#pendingReply === undefined && this.#waiting.length === 0;
  }

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
    // Calls right after each other share the first round trip.
    if (this.#pendingReply === undefined) queueMicrotask(sendNext);
    else if (!alwaysWaits && maxWaitMs !== Infinity) this.#timer = setTimeout(sendNext, maxWaitMs);
  }

  #sendNext(): void {
    const batch = this.#waiting.shift();
    if (batch === undefined) return;
    const reply = this.#send(batch.items);
    this.#pendingReply = reply;
    const endRoundTrip = () => {
      if (this.#pendingReply !== reply) return;
      this.#pendingReply = undefined;
      clearTimeout(this.#timer);
      // Further calls of this turn of the event loop join the batch.
      if (this.#waiting.length > 0) setImmediate(() => this.#sendNext());
    };
    if (this.#pace.alwaysWaits) setTimeout(endRoundTrip, this.#pace.maxWaitMs);
    else reply.then(endRoundTrip, endRoundTrip);
    batch.resolve(reply);
    if (this.#waiting.length > 0) this.#schedule();
  }
}
