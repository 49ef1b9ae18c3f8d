import type { StorageProbe } from '../ports/storage-health.ts';

/** How long after its beginning an outcome is shared. Anyone may ask for readiness, and a probe costs the storage. */
const SHARED_MS = 1_000;

/** Asks another probe once a second at most, whoever asks, and one at a time. Shares failures too. */
export class SharedProbe implements StorageProbe {
  readonly #probe: StorageProbe;
  #outcome: ReturnType<StorageProbe['check']> | undefined;
  /** On the clock of `performance.now()`. */
  #sharedUntilMs = 0;

  constructor(probe: StorageProbe) {
    this.#probe = probe;
  }

  check(): ReturnType<StorageProbe['check']> {
    const nowMs = performance.now();
    if (this.#outcome === undefined || nowMs >= this.#sharedUntilMs) {
      this.#sharedUntilMs = Infinity;
      this.#outcome = this.#probe.check().finally(() => (this.#sharedUntilMs = nowMs + SHARED_MS));
    }
    return this.#outcome;
  }
}
