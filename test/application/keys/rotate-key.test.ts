import { expect, it } from 'vitest';
import type { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { ApiKeyNotActive, ApiKeyNotFound } from '../../../src/application/keys/errors.ts';
import { CreateKey } from '../../../src/application/keys/create-key.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { RotateKey, type Rotation } from '../../../src/application/keys/rotate-key.ts';
import { InvalidApiKey } from '../../../src/domain/api-key.ts';
import { aKey, keysWith } from '../../support/api-keys.ts';

const DAY_MS = 86_400_000;
const UNAVAILABLE = new StorageUnavailable('away');
const NOW = new Date('2026-11-20T12:00:00.000Z');
const old = aKey(1, { createdAt: days(-10), scopes: ['pets:read', 'pets:write'] });

function days(count: number): Date {
  return new Date(NOW.getTime() + count * DAY_MS);
}

function rotate(keys: InMemoryApiKeyRepository, rotation: Rotation) {
  const createKey = new CreateKey(keys, mintKey, () => NOW);
  return new RotateKey(keys, createKey, () => NOW).execute(old.id, rotation);
}

it('RotateKey creates a key with the fields of the old key and its own expiry, and the old key expires after the overlap', async () => {
  const { id: originId } = aKey(2);
  const before = { ...old, originId, rateLimit: { requests: 600, seconds: 60 }, lastUsedAt: days(-1) };
  const keys = await keysWith(before, aKey(2));

  const rotated = await rotate(keys, { overlapMs: 7 * DAY_MS, expiresAt: days(400) });

  expect(rotated).toStrictEqual({
    key: {
      id: idOf(rotated.token),
      digest: digestOf(rotated.token),
      label: old.label,
      scopes: ['pets:read', 'pets:write'],
      createdAt: NOW,
      expiresAt: days(400),
      rateLimit: { requests: 600, seconds: 60 },
      originId,
    },
    token: rotated.token,
  });
  expect(rotated.key.id).not.toBe(old.id);
  expect(await keys.list()).toStrictEqual([{ ...before, expiresAt: days(7) }, rotated.key, aKey(2)]);
});

it.each([
  ['immediately without an overlap', undefined, 0, NOW],
  ['before the expiry that it had', days(20), DAY_MS, days(1)],
  ['at the expiry that it had, if the overlap ends later', days(2), 7 * DAY_MS, days(2)],
])(
  'RotateKey makes the old key expire %s, and the new key has no expiry',
  async (_, expiresAt, overlapMs, expected) => {
    const keys = await keysWith({ ...old, ...(expiresAt && { expiresAt }) });

    const { key } = await rotate(keys, { overlapMs });

    expect(key.expiresAt).toBeUndefined();
    expect(await keys.findById(old.id)).toStrictEqual({ ...old, expiresAt: expected });
  },
);

it('RotateKey leaves the old key unchanged when the new key cannot be delivered', async () => {
  const keys = await keysWith(old);
  const createKey = new CreateKey(keys, mintKey, () => NOW);
  const full = new Error('full');

  const rotated = new RotateKey(keys, createKey, () => NOW).execute(old.id, { overlapMs: 0 }, () => {
    throw full;
  });

  await expect(rotated).rejects.toBe(full);
  expect(await keys.findById(old.id)).toStrictEqual(old);
  expect((await keys.list()).filter(({ id }) => id !== old.id)).toMatchObject([{ revokedAt: NOW }]);
});

it.each([
  ['a revoked key', { revokedAt: days(-1), expiresAt: days(-2) }, {}, new ApiKeyNotActive(old.id, 'revoked')],
  ['an expired key', { expiresAt: NOW }, {}, new ApiKeyNotActive(old.id, 'expired')],
  ['an unknown id', { id: aKey(2).id }, {}, new ApiKeyNotFound(old.id)],
  ['an expiry in the past', {}, { expiresAt: NOW }, new InvalidApiKey(['expiresAt must be in the future'])],
])('RotateKey rejects %s, and changes nothing', async (_, fields, rotation, error) => {
  const keys = await keysWith({ ...old, ...fields });

  await expect(rotate(keys, { overlapMs: DAY_MS, ...rotation })).rejects.toStrictEqual(error);
  expect(await keys.list()).toStrictEqual([{ ...old, ...fields }]);
});

it('RotateKey keeps the new key when storing the expiry of the old key fails', async () => {
  const keys = await keysWith(old);
  keys.expire = () => Promise.reject(UNAVAILABLE);

  await expect(rotate(keys, { overlapMs: 0 })).rejects.toBe(UNAVAILABLE);

  expect(await keys.list()).toMatchObject([old, { label: old.label, createdAt: NOW, originId: old.id }]);
});
