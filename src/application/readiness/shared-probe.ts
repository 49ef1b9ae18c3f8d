import type { StorageProbe } from '../ports/storage-probe.ts';

/** How long after its beginning an outcome is shared. Anyone may ask for readiness, and a probe costs the storage. */
const SHARED_MS = 1_000;

/** Asks another probe once a second at most, whoever asks, and one at a time. Shares failures too. */
export class SharedProbe implements StorageProbe {
  readonly #probe: StorageProbe;
  readonly #nowMs: () => number;
  #outcome: ReturnType<StorageProbe['check']> | undefined;
  #sharedUntilMs = 0;

  /** @param nowMs a monotonic clock */
  constructor(probe: StorageProbe, nowMs: () => number = () => performance.now()) {
    this.#probe = probe;
    this.#nowMs = nowMs;
  }

  /** @throws {StorageUnavailable} */
  check(): ReturnType<StorageProbe['check']> {
    const nowMs = this.#nowMs();
    if (this.#outcome === undefined || nowMs >= this.#sharedUntilMs) {
      this.#sharedUntilMs = Infinity;
      this.#outcome = this.#probe.check().finally(() => (this.#sharedUntilMs = nowMs + SHARED_MS));
    }
    return this.#outcome;
  }
}
