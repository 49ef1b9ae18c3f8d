import { hash } from 'node:crypto';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';

/** An API key. The number `n` decides its id, digest, label and time of creation, unless `fields` replaces them. */
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

/** The time `ms` milliseconds after a fixed time. Each call returns a new object, because a Date can be changed. */
export function at(ms: number): Date {
  return new Date(1_797_000_000_000 + ms);
}

/** A repository in memory with these keys. */
export async function keysWith(...keys: readonly ApiKey[]): Promise<InMemoryApiKeyRepository> {
  const repository = new InMemoryApiKeyRepository();
  for (const key of keys) await repository.insert(key);
  return repository;
}
