import type { Registry } from 'prom-client';
import type { Allowance, RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../domain/api-key.ts';
import { exposeCounts } from './expose.ts';
import type { StorageMetrics } from './storage-metrics.ts';

/** Counts the decisions of another rate limiter, and takes their time. Resolves and rejects as it does. */
export class MeasuredRateLimiter implements RateLimiter {
  readonly #limiter: RateLimiter;
  readonly #metrics: StorageMetrics;
  readonly #decisions = { allowed: 0, limited: 0, failed: 0 };

  constructor(limiter: RateLimiter, metrics: StorageMetrics, registry: Registry) {
    this.#limiter = limiter;
    this.#metrics = metrics;
    exposeCounts(
      registry,
      {
        name: 'petstore_rate_limit_decisions_total',
        help: 'Requests of keys with a limit: within it, beyond it, or not counted because counting failed.',
        labelNames: ['decision'],
      },
      () => Object.entries(this.#decisions).map(([decision, count]) => [{ decision }, count] as const),
    );
  }

  /** @throws {StorageUnavailable} */
  async take(keyId: string, limit: RateLimit): Promise<Allowance> {
    try {
      const allowance = await this.#metrics.measure('count_request', () => this.#limiter.take(keyId, limit));
      this.#decisions[allowance.allowed ? 'allowed' : 'limited']++;
      return allowance;
    } catch (error) {
      this.#decisions.failed++;
      throw error;
    }
  }
}
