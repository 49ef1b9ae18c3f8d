import type { StorageProbe } from '../../application/ports/storage-health.ts';

/** How long after its beginning an outcome is shared. Anyone may ask for readiness, and a probe costs the storage. */
const SHARED_MS = 1_000;

/** Asks another probe once a second at most, whoever asks, and one at a time. Shares failures too. */
export function sharedProbe(probe: StorageProbe): StorageProbe {
  let outcome: ReturnType<StorageProbe['check']> | undefined;
  /** On the clock of `performance.now()`. */
  let sharedUntilMs = 0;
  const check = () => {
    const nowMs = performance.now();
    if (outcome === undefined || nowMs >= sharedUntilMs) {
      sharedUntilMs = Infinity;
      outcome = probe.check().finally(() => (sharedUntilMs = nowMs + SHARED_MS));
    }
    return outcome;
  };
  return { check };
}
