import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { ServiceStorage } from '../../application/ports/storage.ts';
import type { StorageProbe } from '../../application/ports/storage-health.ts';
import { inSpan } from './in-span.ts';

/** Makes a call to the storage in a span. */
type Call = <T>(operation: string, work: () => Promise<T>) => Promise<T>;

/**
 * The storage with a span for each call that a sampled request makes. The span is that of the call, even if the storage
 * answers several calls with one operation. Every method rejects as that of the storage.
 *
 * @param system the name of the database system: https://opentelemetry.io/docs/specs/semconv/db/database-spans/
 */
export function traceStorage(storage: ServiceStorage, tracer: Tracer, system: string): ServiceStorage {
  const callsOn = (collection?: string): Call => {
    return (operation, work) => {
      const name = collection === undefined ? operation : `${operation} ${collection}`;
      const attributes = {
        'db.system.name': system,
        'db.operation.name': operation,
        'db.collection.name': collection,
      };
      return inSpan(tracer, name, { kind: SpanKind.CLIENT, attributes }, work);
    };
  };
  const { pets, keys, probe, limiter } = storage;
  return {
    pets: tracePets(pets, callsOn('pets')),
    keys: traceKeys(keys, callsOn('api_keys')),
    probe: traceProbe(probe, callsOn()),
    ...(limiter !== undefined && { limiter: traceLimiter(limiter, callsOn('rate_limits')) }),
    close: () => storage.close(),
  };
}

function tracePets(pets: PetRepository, call: Call): PetRepository {
  return {
    insert: (pet) => call('insert', () => pets.insert(pet)),
    insertOnce: (pet, idempotency) => call('insertOnce', () => pets.insertOnce(pet, idempotency)),
    findById: (id) => call('findById', () => pets.findById(id)),
    list: (query) => call('list', () => pets.list(query)),
  };
}

function traceKeys(keys: ApiKeyRepository, call: Call): ApiKeyRepository {
  return {
    insert: (key) => call('insert', () => keys.insert(key)),
    findById: (id) => call('findById', () => keys.findById(id)),
    list: () => call('list', () => keys.list()),
    revoke: (id, at) => call('revoke', () => keys.revoke(id, at)),
    expire: (id, at) => call('expire', () => keys.expire(id, at)),
    recordUse: (uses) => call('recordUse', () => keys.recordUse(uses)),
  };
}

function traceProbe(probe: StorageProbe, call: Call): StorageProbe {
  return { check: () => call('check', () => probe.check()) };
}

function traceLimiter(limiter: RateLimiter, call: Call): RateLimiter {
  return { take: (keyId, limit) => call('take', () => limiter.take(keyId, limit)) };
}
