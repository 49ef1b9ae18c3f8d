import type { Registry } from 'prom-client';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { exposeFigure } from './expose.ts';
import type { StorageMetrics } from './storage-metrics.ts';

/** Takes the time of another probe, and asks it at each scrape. */
export class MeasuredStorageProbe implements StorageProbe {
  readonly #probe: StorageProbe;
  readonly #metrics: StorageMetrics;

  constructor(probe: StorageProbe, metrics: StorageMetrics, registry: Registry) {
    this.#probe = probe;
    this.#metrics = metrics;
    exposeFigure(
      registry,
      {
        name: 'petstore_storage_ready',
        help: '1 if the storage can serve requests at the time of the scrape, otherwise 0.',
      },
      () => this.#isReady(),
    );
  }

  /** @throws {StorageUnavailable} */
  check(): Promise<void> {
    return this.#metrics.measure('check', () => this.#probe.check());
  }

  async #isReady(): Promise<0 | 1> {
    try {
      await this.check();
      return 1;
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      return 0;
    }
  }
}
