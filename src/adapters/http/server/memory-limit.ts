import type { Connection } from './connection.ts';

/** The share of the limit in use after a cut. A greater share would cause another cut after a few requests. */
const SHARE_AFTER_CUT = 0.75;

/** How often the memory is measured, in milliseconds. */
const MEASURE_INTERVAL_MS = 50;

export type MemoryLimitOptions = {
  /** How many bytes all connections together may hold in memory. */
  readonly maxHeldBytes: number;
  /** Called with how many connections were cut off. */
  readonly onCutOff: (connections: number) => void;
};

/** Cuts off the connections that hold the most memory when all of them together hold more than the limit. */
export class MemoryLimit {
  readonly #connections: () => IteratorObject<Connection>;
  readonly #options: MemoryLimitOptions;
  #isWatching = false;

  constructor(connections: () => IteratorObject<Connection>, options: MemoryLimitOptions) {
    this.#connections = connections;
    this.#options = options;
  }

  /** Measures from now on, until no request is in progress. Call it for every request. */
  watch(): void {
    if (this.#isWatching) return;
    this.#isWatching = true;
    setTimeout(this.#measure, MEASURE_INTERVAL_MS).unref();
  }

  readonly #measure = () => {
    let heldBytes = 0;
    let isBusy = false;
    for (const connection of this.#connections()) {
      heldBytes += connection.heldBytes;
      isBusy ||= connection.isAnswering;
    }
    this.#isWatching = false;
    // A request in progress can fill the memory even if no other request comes.
    if (isBusy) this.watch();
    if (heldBytes > this.#options.maxHeldBytes) this.#cut(heldBytes);
  };

  #cut(heldBytes: number): void {
    const { maxHeldBytes, onCutOff } = this.#options;
    const largestFirst = this.#connections()
      .map(({ socket, heldBytes: bytes }) => ({ socket, bytes }))
      .toArray()
      .toSorted((a, b) => b.bytes - a.bytes);
    let leftBytes = heldBytes;
    let cutOff = 0;
    for (const { socket, bytes } of largestFirst) {
      if (leftBytes <= maxHeldBytes * SHARE_AFTER_CUT) break;
      socket.destroy();
      leftBytes -= bytes;
      cutOff++;
    }
    onCutOff(cutOff);
  }
}
