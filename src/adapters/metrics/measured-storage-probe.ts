import { setTimeout as sleep } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageProbe, StorageState } from '../../application/ports/storage-probe.ts';
import { petIdsLeft } from '../../domain/pet.ts';
import { exposeFigure } from './expose.ts';
import type { StorageMetrics } from './storage-metrics.ts';

/** How long a scrape waits for the storage. Shorter than the primary process waits for a worker. */
const SCRAPE_MS = 500;

/** Takes the time of another probe, and asks it at each scrape. */
export class MeasuredStorageProbe implements StorageProbe {
  readonly #probe: StorageProbe;
  readonly #metrics: StorageMetrics;
  #lastId = 0n;

  constructor(probe: StorageProbe, metrics: StorageMetrics, registry: Registry) {
    this.#probe = probe;
    this.#metrics = metrics;
    exposeFigure(
      registry,
      {
        name: 'petstore_storage_ready',
        help: '1 if the storage answers within 0.5 s at the time of the scrape and can serve requests, otherwise 0.',
      },
      () => Promise.race([this.#isReady(), sleep(SCRAPE_MS, 0, { ref: false })]),
    );
    exposeFigure(
      registry,
      { name: 'petstore_pet_ids_left', help: 'How many ids were left for new pets at the latest check.' },
      () => Number(petIdsLeft(this.#lastId)),
    );
  }

  /** @throws {StorageUnavailable} */
  async check(): Promise<StorageState> {
    const state = await this.#metrics.measure('check', () => this.#probe.check());
    this.#lastId = state.lastId;
    return state;
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
