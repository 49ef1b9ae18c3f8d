type Pace = {
  /**
   * The next round trip begins with the reply to the last one, but not later than this after its beginning. `Infinity`
   * for one round trip at a time. Default: 5.
   */
  readonly maxWaitMs?: number;
  /** Whether the next one also waits that long if the reply comes earlier. Default: no. */
  readonly alwaysWaits?: boolean;
  /** How many calls share a round trip at most. Default: 1,000; so many pets of the greatest size make 1.3 MB. */
  readonly maxCalls?: number;
};

type Batch<Item, Reply> = { readonly items: Item[]; readonly reply: Promise<Reply> };

/**
 * Sends calls together: a round trip costs the driver the same CPU time, however many calls share it. A call goes at
 * once if no other is under way. Calls that come during a round trip share the next one, see {@link Pace}: no call waits
 * long for a slow or broken connection.
 *
 * A call never shares a round trip that began before the call.
 */
export class Batcher<Item, Reply> {
  readonly #send: (items: readonly Item[]) => Promise<Reply>;
  readonly #pace: Required<Pace>;
  #next: Batch<Item, Reply> | undefined;
  /** Resolves when the round trip of the latest batch no longer delays another. */
  #turn: Promise<void> | undefined;

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
    return this.#turn === undefined;
  }

  /** Resolves or rejects as the round trip of the item does. */
  add(item: Item): Promise<Reply> {
    if (this.#next === undefined || this.#next.items.length === this.#pace.maxCalls) {
      this.#next = this.#newBatch(this.#turn);
    }
    this.#next.items.push(item);
    return this.#next.reply;
  }

  #newBatch(previous: Promise<void> | undefined): Batch<Item, Reply> {
    const items: Item[] = [];
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    this.#turn = turn;
    const endTurn = () => {
      if (this.#turn === turn) this.#turn = undefined;
      resolve();
    };
    const sendInTurn = async () => {
      // Awaits even `undefined`: calls that are made in one go share the first round trip.
      await previous;
      if (this.#next?.items === items) this.#next = undefined;
      const reply = this.#send(items);
      this.#delayNext(reply, endTurn);
      return reply;
    };
    return { items, reply: sendInTurn() };
  }

  #delayNext(reply: Promise<unknown>, endTurn: () => void): void {
    const { maxWaitMs, alwaysWaits } = this.#pace;
    const timer = maxWaitMs === Infinity ? undefined : setTimeout(endTurn, maxWaitMs);
    if (alwaysWaits) return;
    const end = () => {
      clearTimeout(timer);
      endTurn();
    };
    reply.then(end, end);
  }
}
