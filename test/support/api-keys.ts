import { hash } from 'node:crypto';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';

/** The key with this number, with defaults for the fields that a test does not care about. */
export function aKey(n = 1, fields: Partial<ApiKey> = {}): ApiKey {
  return {
    id: n.toString(16).padStart(16, '0'),
    digest: hash('sha256', `key ${n}`),
    label: `key ${n}`,
    scopes: ['pets:read'],
    createdAt: at(n),
    ...fields,
  };
}

/** A fixed instant plus some milliseconds. A new object for each call, because a Date is mutable. */
export function at(ms: number): Date {
  return new Date(1_797_000_000_000 + ms);
}

/** A repository in memory with these keys. */
export async function keysWith(...keys: readonly ApiKey[]): Promise<InMemoryApiKeyRepository> {
  const repository = new InMemoryApiKeyRepository();
  for (const key of keys) await repository.insert(key);
  return repository;
}
