import { describe, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { ApiKeyIdTaken } from '../../../src/application/keys/errors.ts';
import { CopyKeys } from '../../../src/application/moving/copy-keys.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import type { ApiKey } from '../../../src/domain/api-key.ts';
import { aKey } from '../../support/api-keys.ts';

const [MAY, JUNE, JULY] = ['2027-05-01', '2027-06-01', '2027-07-01'].map((day) => new Date(day));

const SOME = [
  aKey(1),
  aKey(2, { scopes: ['pets:read', 'pets:write'], rateLimit: { requests: 600, seconds: 60 } }),
  aKey(3, { expiresAt: JUNE! }),
  aKey(4, { revokedAt: JUNE!, lastUsedAt: MAY! }),
  aKey(5, { expiresAt: JULY!, revokedAt: JUNE!, lastUsedAt: MAY! }),
];

async function holding(...all: readonly ApiKey[]): Promise<InMemoryApiKeyRepository> {
  const keys = new InMemoryApiKeyRepository();
  for (const key of all) await keys.insert(key);
  return keys;
}

async function copy(source: Pick<ApiKeyRepository, 'list'>, target: ApiKeyRepository): Promise<number> {
  const copied = await new CopyKeys(source, target).execute();
  expect(copied).toStrictEqual(await source.list());
  return copied.length;
}

describe('CopyKeys', () => {
  it('makes an exact copy and leaves the source as it is', async () => {
    const source = await holding(...SOME);
    const target = await holding();

    expect(await copy(source, target)).toBe(5);

    expect(await target.list()).toStrictEqual(SOME);
    expect(await source.list()).toStrictEqual(SOME);
  });

  it('may be repeated', async () => {
    const target = await holding(SOME[1]!, SOME[3]!);

    expect(await copy(await holding(...SOME), target)).toBe(5);
    expect(await copy(await holding(...SOME), target)).toBe(5);

    expect(await target.list()).toStrictEqual(SOME);
  });

  it('copies nothing where there is nothing', async () => {
    const target = await holding(...SOME);

    expect(await copy(await holding(), target)).toBe(0);

    expect(await target.list()).toStrictEqual(SOME);
  });

  it('leaves other keys as they are', async () => {
    const target = await holding(aKey(9, { expiresAt: JULY! }));

    expect(await copy(await holding(aKey(1)), target)).toBe(1);

    expect(await target.list()).toStrictEqual([aKey(1), aKey(9, { expiresAt: JULY! })]);
  });

  it.each<readonly [string, Partial<ApiKey>, Partial<ApiKey>, Partial<ApiKey>]>([
    ['revoked in the source', { revokedAt: JUNE! }, {}, { revokedAt: JUNE! }],
    ['revoked in the target', {}, { revokedAt: JUNE! }, { revokedAt: JUNE! }],
    ['revoked earlier in the source', { revokedAt: MAY! }, { revokedAt: JUNE! }, { revokedAt: MAY! }],
    ['revoked earlier in the target', { revokedAt: JUNE! }, { revokedAt: MAY! }, { revokedAt: MAY! }],
    ['expires in the source', { expiresAt: JUNE! }, {}, { expiresAt: JUNE! }],
    ['expires in the target', {}, { expiresAt: JUNE! }, { expiresAt: JUNE! }],
    ['expires earlier in the source', { expiresAt: MAY! }, { expiresAt: JUNE! }, { expiresAt: MAY! }],
    ['expires earlier in the target', { expiresAt: JUNE! }, { expiresAt: MAY! }, { expiresAt: MAY! }],
    ['used later in the source', { lastUsedAt: JUNE! }, { lastUsedAt: MAY! }, { lastUsedAt: JUNE! }],
    ['used later in the target', { lastUsedAt: MAY! }, { lastUsedAt: JUNE! }, { lastUsedAt: JUNE! }],
    ['of another label in the target', {}, { label: 'renamed' }, { label: 'renamed' }],
  ])('ends a key that is there already as early as either does: %s', async (_, ours, theirs, expected) => {
    const target = await holding(aKey(1, theirs));

    await copy(await holding(aKey(1, ours)), target);

    expect(await target.list()).toStrictEqual([aKey(1, expected)]);
  });

  it.each([0, 2, 4])('changes nothing when another key has the id of the key %i', async (index) => {
    const { id } = SOME[index]!;
    const another = { ...aKey(9), id };
    const target = await holding(another);

    const copying = copy(await holding(...SOME), target);

    await expect(copying).rejects.toThrow(ApiKeyIdTaken);
    await expect(copying).rejects.toMatchObject({ id });
    expect(await target.list()).toStrictEqual([another]);
  });

  it('checks for such a key without writing', async () => {
    const another = { ...aKey(9), id: aKey(2).id };
    const target = await holding(another);

    await expect(new CopyKeys(await holding(...SOME), target).check()).rejects.toThrow(ApiKeyIdTaken);
    await new CopyKeys(await holding(aKey(1)), target).check();

    expect(await target.list()).toStrictEqual([another]);
  });

  it('overwrites no other key that comes meanwhile', async () => {
    const another = { ...aKey(9), id: aKey(2).id };
    class Busy extends InMemoryApiKeyRepository {
      override async insert(key: ApiKey): Promise<void> {
        await super.insert(another);
        await super.insert(key);
      }
    }
    const target = new Busy();

    await expect(copy(await holding(aKey(1), aKey(2), aKey(3)), target)).rejects.toThrow(ApiKeyIdTaken);

    expect(await target.list()).toStrictEqual([aKey(1), another]);
  });

  it('fails as the source or the target does', async () => {
    const broken = new StorageUnavailable('gone');
    const source = { list: () => Promise.reject(broken) };
    await expect(copy(source, await holding())).rejects.toBe(broken);

    class Full extends InMemoryApiKeyRepository {
      override async insert(): Promise<void> {
        throw broken;
      }
    }
    await expect(copy(await holding(...SOME), new Full())).rejects.toBe(broken);
  });
});
