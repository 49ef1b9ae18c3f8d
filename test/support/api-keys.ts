import { hash } from 'node:crypto';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import type { ApiKey } from '../../src/domain/api-key.ts';

/** An API key. Its id, digest, label and time of creation depend on `n`. `fields` replaces fields of the key. */
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

/** The time `ms` milliseconds after a fixed time. Each call returns a new Date, because code can change a Date. */
export function at(ms: number): Date {
  return new Date(1_797_000_000_000 + ms);
}

/** A new in-memory repository that contains these API keys. */
export async function keysWith(...keys: readonly ApiKey[]): Promise<InMemoryApiKeyRepository> {
  const repository = new InMemoryApiKeyRepository();
  for (const key of keys) await repository.insert(key);
  return repository;
}
