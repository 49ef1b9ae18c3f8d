import { expect, it } from 'vitest';
import { ApiKeyIdTaken } from '../../../src/application/keys/errors.ts';
import { CopyKeys } from '../../../src/application/maintenance/copy-keys.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import type { ApiKey } from '../../../src/domain/api-key.ts';
import { aKey, keysWith } from '../../support/api-keys.ts';

const [MAY, JUNE, JULY] = ['2027-05-01', '2027-06-01', '2027-07-01'].map((day) => new Date(day));

const SOME = [
  aKey(1),
  aKey(2, { scopes: ['pets:read', 'pets:write'], rateLimit: { requests: 600, seconds: 60 } }),
  aKey(3, { expiresAt: JUNE! }),
  aKey(4, { revokedAt: JUNE!, lastUsedAt: MAY! }),
  aKey(5, { expiresAt: JULY!, revokedAt: JUNE!, lastUsedAt: MAY! }),
];

/** @returns how many keys were copied, and how many of them were there before */
async function copy(source: Pick<ApiKeyRepository, 'list'>, target: ApiKeyRepository) {
  const { keys, alreadyThere } = await new CopyKeys(source, target).execute();
  expect(keys).toStrictEqual(await source.list());
  return [keys.length, alreadyThere];
}

it('CopyKeys makes an exact copy, leaves the source unchanged, and can be repeated', async () => {
  const source = await keysWith(...SOME);
  // The target has some of the keys already, as after a copy that was interrupted.
  const target = await keysWith(SOME[1]!, SOME[3]!);

  for (const before of [2, 5]) expect(await copy(source, target)).toStrictEqual([5, before]);

  expect(await target.list()).toStrictEqual(SOME);
  expect(await source.list()).toStrictEqual(SOME);
});

it.each(['insert', 'revoke', 'expire', 'recordUse'])(
  'CopyKeys rejects with the error of its target when %s fails',
  async (method) => {
    const away = new Error('away');
    const target = Object.assign(await keysWith(), { [method]: () => Promise.reject(away) });
    await expect(copy(await keysWith(...SOME), target)).rejects.toBe(away);
  },
);

it('CopyKeys leaves the other keys of the target unchanged', async () => {
  const target = await keysWith(aKey(9, { expiresAt: JULY! }));

  expect(await copy(await keysWith(), target)).toStrictEqual([0, 0]);
  expect(await copy(await keysWith(aKey(1)), target)).toStrictEqual([1, 0]);

  expect(await target.list()).toStrictEqual([aKey(1), aKey(9, { expiresAt: JULY! })]);
});

it.each<readonly [string, Partial<ApiKey>, Partial<ApiKey>, Partial<ApiKey>]>([
  ['revoked in the source', { revokedAt: JUNE! }, {}, { revokedAt: JUNE! }],
  ['revoked earlier in the source', { revokedAt: MAY! }, { revokedAt: JUNE! }, { revokedAt: MAY! }],
  ['expires in the source', { expiresAt: JUNE! }, {}, { expiresAt: JUNE! }],
  ['ended in both ways', { revokedAt: MAY!, expiresAt: JUNE! }, {}, { revokedAt: MAY!, expiresAt: JUNE! }],
  ['used later in the source', { lastUsedAt: JUNE! }, { lastUsedAt: MAY! }, { lastUsedAt: JUNE! }],
  ['with another label in the target', {}, { label: 'renamed' }, { label: 'renamed' }],
])(
  'CopyKeys updates an existing key to the earlier end and the later use, and no other field: %s',
  async (_, inSource, inTarget, expected) => {
    const target = await keysWith(aKey(1, inTarget));

    await copy(await keysWith(aKey(1, inSource)), target);

    expect(await target.list()).toStrictEqual([aKey(1, expected)]);
  },
);

it.each([0, 2, 4])('CopyKeys changes nothing when another key has the id of the key %i', async (index) => {
  const { id } = SOME[index]!;
  const another = { ...aKey(9), id };
  const target = await keysWith(another);

  const copying = copy(await keysWith(...SOME), target);

  await expect(copying).rejects.toStrictEqual(new ApiKeyIdTaken(id));
  expect(await target.list()).toStrictEqual([another]);
});

it('CopyKeys.check rejects another key with the same id and writes nothing, and execute copies later changes of the source', async () => {
  const another = { ...aKey(9), id: aKey(2).id };
  const target = await keysWith(another);

  await expect(new CopyKeys(await keysWith(...SOME), target).check()).rejects.toThrow(ApiKeyIdTaken);
  const source = await keysWith(aKey(1));
  const copyKeys = new CopyKeys(source, target);
  await copyKeys.check();

  expect(await target.list()).toStrictEqual([another]);
  await source.revoke(aKey(1).id, JUNE!);
  await copyKeys.execute();
  expect(await target.list()).toStrictEqual([aKey(1, { revokedAt: JUNE! }), another]);
});
