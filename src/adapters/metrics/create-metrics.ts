import { collectDefaultMetrics, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageMeter, StorageProbe } from '../../application/ports/storage-health.ts';
import type { TokenRefusal, TokenVerifier } from '../../application/ports/token-verifier.ts';
import { measureKeys, measureLimiter, measurePets, measureProbe } from './measure-storage.ts';
import { RequestMetrics } from './request-metrics.ts';
import { StorageMetrics } from './storage-metrics.ts';
import { measureTokens, VerificationMetrics } from './verification-metrics.ts';

/** The metrics of a process. Each function that takes a part returns one that measures it. */
export type Metrics = {
  readonly requests: RequestMetrics;
  /** For the storage, when it is opened. */
  readonly meter: StorageMeter;
  readonly onTokenRefused: (reason: TokenRefusal) => void;
  readonly pets: (pets: PetRepository) => PetRepository;
  readonly keys: (keys: ApiKeyRepository) => ApiKeyRepository;
  readonly limiter: (limiter: RateLimiter) => RateLimiter;
  readonly tokens: (tokens: TokenVerifier) => TokenVerifier;
  readonly probe: (probe: StorageProbe) => StorageProbe;
  /** What `textOfWorkers` takes. */
  readonly series: () => Promise<MetricObjectWithValues<MetricValue<string>>[]>;
  /** The text of a scrape, in the text format 0.0.4 of Prometheus. */
  readonly text: () => Promise<string>;
};

/**
 * Also measures the process from now on: its event loop, its memory and its garbage collection.
 *
 * @param deprecatedRoute the pattern of the route whose calls are counted by key
 * @param worker the number of this process if it is a worker of `node:cluster`. Each of its series then has the number
 *   as a label, and the primary process serves all of them. Without the label, the sum over the workers would
 *   fall when one of them ends, and Prometheus would take that for a restart of all.
 */
export function createMetrics(deprecatedRoute: string, worker?: number): Metrics {
  const registry = new Registry();
  if (worker !== undefined) registry.setDefaultLabels({ worker: String(worker) });
  const requests = new RequestMetrics(registry, deprecatedRoute);
  const storage = new StorageMetrics(registry);
  const verifications = new VerificationMetrics(registry);
  collectDefaultMetrics({ register: registry });
  return {
    requests,
    meter: storage,
    onTokenRefused: (reason) => verifications.count(reason),
    pets: (pets) => measurePets(pets, storage),
    keys: (keys) => measureKeys(keys, storage),
    limiter: (limiter) => measureLimiter(limiter, storage, registry),
    tokens: (tokens) => measureTokens(tokens, verifications),
    probe: (probe) => measureProbe(probe, storage, registry),
    series: () => registry.getMetricsAsJSON(),
    text: () => registry.metrics(),
  };
}
