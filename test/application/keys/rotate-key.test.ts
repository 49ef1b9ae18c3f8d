import { describe, expect, it } from 'vitest';
import type { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { digestOf, idOf, mintKey } from '../../../src/adapters/tokens/token.ts';
import { ApiKeyNotActive, ApiKeyNotFound } from '../../../src/application/keys/errors.ts';
import { CreateKey } from '../../../src/application/keys/create-key.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { RotateKey, type Rotation } from '../../../src/application/keys/rotate-key.ts';
import { InvalidApiKey } from '../../../src/domain/api-key.ts';
import { aKey, keysWith } from '../../support/api-keys.ts';

const DAY_MS = 86_400_000;
const AWAY = new StorageUnavailable('away');
const NOW = new Date('2026-11-20T12:00:00.000Z');
const old = aKey(1, { createdAt: days(-10), scopes: ['pets:read', 'pets:write'] });

function days(count: number): Date {
  return new Date(NOW.getTime() + count * DAY_MS);
}

function rotate(keys: InMemoryApiKeyRepository, rotation: Rotation) {
  const createKey = new CreateKey(keys, mintKey, () => NOW);
  return new RotateKey(keys, createKey, () => NOW).execute(old.id, rotation);
}

describe('RotateKey', () => {
  it('creates a new key like the old one, which expires after the overlap', async () => {
    const { id: originId } = aKey(2);
    const before = { ...old, originId, rateLimit: { requests: 600, seconds: 60 }, lastUsedAt: days(-1) };
    const keys = await keysWith(before, aKey(2));

    const rotated = await rotate(keys, { overlapMs: 7 * DAY_MS });

    expect(rotated).toStrictEqual({
      key: {
        id: idOf(rotated.token),
        digest: digestOf(rotated.token),
        label: old.label,
        scopes: ['pets:read', 'pets:write'],
        createdAt: NOW,
        rateLimit: { requests: 600, seconds: 60 },
        originId,
      },
      token: rotated.token,
      old: { ...before, expiresAt: days(7) },
    });
    expect(rotated.key.id).not.toBe(old.id);
    expect(await keys.list()).toStrictEqual([rotated.old, rotated.key, aKey(2)]);
  });

  it.each([undefined, days(1), days(400)])('sets the expiry of the new key: %s', async (expiresAt) => {
    const keys = await keysWith({ ...old, expiresAt: days(20) });

    const { key, old: replaced } = await rotate(keys, { overlapMs: DAY_MS, expiresAt });

    expect(key.expiresAt).toStrictEqual(expiresAt);
    expect(replaced.expiresAt).toStrictEqual(days(1));
  });

  it('lets the old key expire now without an overlap', async () => {
    const keys = await keysWith(old);

    expect((await rotate(keys, { overlapMs: 0 })).old).toStrictEqual({ ...old, expiresAt: NOW });
  });

  it('never extends the life of the old key', async () => {
    const before = { ...old, expiresAt: days(2) };
    const keys = await keysWith(before);

    expect((await rotate(keys, { overlapMs: 7 * DAY_MS })).old).toStrictEqual(before);
    expect(await keys.findById(old.id)).toStrictEqual(before);
  });

  it('leaves the old key unchanged when the new one cannot be handed over', async () => {
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
    ['revoked', { revokedAt: days(-1), expiresAt: days(-2) }],
    ['expired', { expiresAt: NOW }],
  ] as const)('rejects a key that is %s: %j', async (state, fields) => {
    const keys = await keysWith({ ...old, ...fields });

    const refused = rotate(keys, { overlapMs: DAY_MS });

    await expect(refused).rejects.toStrictEqual(new ApiKeyNotActive(old.id, state));
    expect(await keys.list()).toStrictEqual([{ ...old, ...fields }]);
  });

  it('rejects an unknown id', async () => {
    const keys = await keysWith(aKey(2));

    const refused = rotate(keys, { overlapMs: DAY_MS });

    await expect(refused).rejects.toStrictEqual(new ApiKeyNotFound(old.id));
    expect(await keys.list()).toStrictEqual([aKey(2)]);
  });

  it('rejects an expiry in the past, and changes nothing', async () => {
    const keys = await keysWith(old);

    await expect(rotate(keys, { overlapMs: DAY_MS, expiresAt: NOW })).rejects.toThrow(InvalidApiKey);

    expect(await keys.list()).toStrictEqual([old]);
  });

  it('leaves the old key unchanged when the new one cannot be stored', async () => {
    const keys = await keysWith(old);
    keys.insert = () => Promise.reject(AWAY);

    await expect(rotate(keys, { overlapMs: 0 })).rejects.toBe(AWAY);

    expect(await keys.list()).toStrictEqual([old]);
  });

  it('rejects when the old key has disappeared before it can expire', async () => {
    const keys = await keysWith(old);
    keys.expire = async () => undefined;

    await expect(rotate(keys, { overlapMs: 0 })).rejects.toThrow(new ApiKeyNotFound(old.id));
  });

  it('has created the new key when the old one cannot expire', async () => {
    const keys = await keysWith(old);
    keys.expire = () => Promise.reject(AWAY);

    await expect(rotate(keys, { overlapMs: 0 })).rejects.toBe(AWAY);

    expect(await keys.list()).toMatchObject([old, { label: old.label, createdAt: NOW, originId: old.id }]);
  });
});
