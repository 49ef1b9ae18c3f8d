import { expect } from 'vitest';
import { DamagedApiKey } from '../../src/application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import { aKey } from '../support/api-keys.ts';

/**
 * Expects every method to reject the damaged key, and `list` to return its error and the undamaged key.
 *
 * @param keys a repository with `aKey(1)`, which is damaged, and `aKey(2)`, which is not
 */
export async function expectDamaged(keys: ApiKeyRepository, problem: string): Promise<void> {
  const damaged = new DamagedApiKey(aKey(1).id, problem);
  await expect(keys.findById(aKey(1).id)).rejects.toStrictEqual(damaged);
  await expect(keys.insert(aKey(1))).rejects.toStrictEqual(damaged);
  await expect(keys.revoke(aKey(1).id, new Date())).rejects.toStrictEqual(damaged);
  await expect(keys.expire(aKey(1).id, new Date())).rejects.toStrictEqual(damaged);
  const list = await keys.list();
  expect(list).toHaveLength(2);
  expect(list).toContainEqual(damaged);
  expect(list).toContainEqual(aKey(2));
}
