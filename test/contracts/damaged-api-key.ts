import { expect } from 'vitest';
import { DamagedApiKey } from '../../src/application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import { aKey } from '../support/api-keys.ts';

/**
 * Expects `findById`, `insert`, `revoke` and `expire` to reject the damaged key. Expects `list` to return the error of
 * the damaged key, and the undamaged key.
 *
 * @param keys a repository with two keys: `aKey(1)` is damaged, and `aKey(2)` is not damaged
 * @param problem what is wrong with the damaged key, as the error describes it
 */
export async function expectDamaged(keys: ApiKeyRepository, problem: string): Promise<void> {
  const damagedKeyError = new DamagedApiKey(aKey(1).id, problem);
  await expect(keys.findById(aKey(1).id)).rejects.toStrictEqual(damagedKeyError);
  await expect(keys.insert(aKey(1))).rejects.toStrictEqual(damagedKeyError);
  await expect(keys.revoke(aKey(1).id, new Date())).rejects.toStrictEqual(damagedKeyError);
  await expect(keys.expire(aKey(1).id, new Date())).rejects.toStrictEqual(damagedKeyError);
  const list = await keys.list();
  expect(list).toHaveLength(2);
  expect(list).toContainEqual(damagedKeyError);
  expect(list).toContainEqual(aKey(2));
}
