import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { ApiKeyNotFound } from '../../../src/application/keys/errors.ts';
import { RevokeKey } from '../../../src/application/keys/revoke-key.ts';
import { aKey } from '../../contracts/api-key-repository.ts';

const NOW = new Date('2027-11-20T12:00:00.000Z');

describe('RevokeKey', () => {
  it('ends a key now, and no other', async () => {
    const keys = new InMemoryApiKeyRepository();
    await keys.insert(aKey(1));
    await keys.insert(aKey(2));

    const revoked = await new RevokeKey(keys, () => NOW).execute(aKey(1).id);

    expect(revoked).toStrictEqual(aKey(1, { revokedAt: NOW }));
    expect(await keys.list()).toStrictEqual([revoked, aKey(2)]);
  });

  it('changes nothing when it is done again', async () => {
    const keys = new InMemoryApiKeyRepository();
    await keys.insert(aKey(1));
    const first = await new RevokeKey(keys, () => NOW).execute(aKey(1).id);

    const again = await new RevokeKey(keys, () => new Date(NOW.getTime() + 1)).execute(aKey(1).id);

    expect(again).toStrictEqual(first);
  });

  it('ends a key that has expired', async () => {
    const keys = new InMemoryApiKeyRepository();
    const expired = aKey(1, { expiresAt: new Date(0) });
    await keys.insert(expired);

    expect(await new RevokeKey(keys, () => NOW).execute(expired.id)).toStrictEqual({
      ...expired,
      revokedAt: NOW,
    });
  });

  it('knows when there is no such key', async () => {
    const keys = new InMemoryApiKeyRepository();
    await keys.insert(aKey(1));

    const refused = new RevokeKey(keys, () => NOW).execute(aKey(2).id);

    await expect(refused).rejects.toThrow(ApiKeyNotFound);
    await expect(refused).rejects.toMatchObject({ kind: 'api-key-not-found', id: aKey(2).id });
    expect(await keys.list()).toStrictEqual([aKey(1)]);
  });
});
