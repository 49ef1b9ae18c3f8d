import { expect, it } from 'vitest';
import { ApiKeyNotFound } from '../../../src/application/keys/errors.ts';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import {
  GetKey,
  parseStoredApiKey,
  RevokeKey,
  throwIfDamaged,
} from '../../../src/application/keys/stored-keys.ts';
import { aKey, keysWith } from '../../support/api-keys.ts';

const NOW = new Date('2027-11-20T12:00:00.000Z');

it('a stored API key has the fields of a key from its record, and no others', () => {
  const record = { ...aKey(1), expiresAt: undefined, owner: 'me' };
  expect(parseStoredApiKey(record)).toStrictEqual(aKey(1));
});

it('a stored API key is damaged when its record breaks a rule, and the error names the first broken rule', () => {
  const damaged = parseStoredApiKey({ ...aKey(1), label: '', scopes: [] });
  expect(damaged).toStrictEqual(
    new DamagedApiKey(aKey(1).id, 'label must be 1 to 64 visible characters, with spaces only between them'),
  );
  expect(() => throwIfDamaged(damaged)).toThrow(damaged);
});

it.each(['a secret', `${aKey(1).id}0`, 7, undefined, [aKey(1).id]])(
  'the error about a stored API key does not contain a damaged id: %j',
  (id) => {
    expect(parseStoredApiKey({ ...aKey(1), id })).toStrictEqual(
      new DamagedApiKey('with an unreadable id', 'id must be 16 lower-case hex digits'),
    );
  },
);

it('RevokeKey revokes one key at the current time', async () => {
  const keys = await keysWith(aKey(1), aKey(2));

  const revoked = await new RevokeKey(keys, () => NOW).execute(aKey(1).id);

  expect(revoked).toStrictEqual(aKey(1, { revokedAt: NOW }));
  expect(await keys.list()).toStrictEqual([revoked, aKey(2)]);
});

it.each([1, -1])(
  'RevokeKey changes nothing when it is repeated with a clock that differs by %i ms',
  async (ms) => {
    const keys = await keysWith(aKey(1));
    const first = await new RevokeKey(keys, () => NOW).execute(aKey(1).id);

    const again = await new RevokeKey(keys, () => new Date(NOW.getTime() + ms)).execute(aKey(1).id);

    expect(again).toStrictEqual(first);
  },
);

it('GetKey finds a key in any state, and RevokeKey and GetKey reject an unknown id', async () => {
  const revoked = aKey(2, { revokedAt: NOW });
  const keys = await keysWith(aKey(1), revoked);
  expect(await new GetKey(keys).execute(revoked.id)).toStrictEqual(revoked);
  for (const useCase of [new GetKey(keys), new RevokeKey(keys, () => NOW)])
    await expect(useCase.execute(aKey(3).id)).rejects.toStrictEqual(new ApiKeyNotFound(aKey(3).id));
  expect(await keys.list()).toStrictEqual([aKey(1), revoked]);
});
