import { expect } from 'vitest';
import { DamagedApiKey } from '../../src/application/keys/errors.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import { aKey } from './api-key-repository.ts';

/**
 * What every storage does with a damaged key: no method gives it or changes it, and the list names it among the others.
 *
 * @param keys with `aKey(1)`, which has been damaged, and `aKey(2)`
 */
export async function expectDamaged(keys: ApiKeyRepository, problem: string): Promise<void> {
  const damaged = new DamagedApiKey(aKey(1).id, problem);
  await expect(keys.findById(aKey(1).id)).rejects.toStrictEqual(damaged);
  await expect(keys.revoke(aKey(1).id, new Date())).rejects.toStrictEqual(damaged);
  await expect(keys.expire(aKey(1).id, new Date())).rejects.toStrictEqual(damaged);
  const list = await keys.list();
  expect(list).toHaveLength(2);
  expect(list).toContainEqual(damaged);
  expect(list).toContainEqual(aKey(2));
}
