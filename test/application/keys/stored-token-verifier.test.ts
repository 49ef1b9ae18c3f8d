import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { StoredTokenVerifier } from '../../../src/application/keys/token-verifiers.ts';
import { idOf, mintKey, tokenForm } from '../../../src/adapters/tokens/token.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import type { TokenRefusal } from '../../../src/application/ports/token-verifier.ts';
import type { ApiKey } from '../../../src/domain/api-key.ts';
import { aKey } from '../../support/api-keys.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const REMEMBERED_MS = 5_000;
const START = Date.UTC(2026, 10, 20, 12);

/** The wall clock of a test. */
let now: Date;

beforeEach(() => {
  now = new Date(START);
});

describe('a key', () => {
  it.each<readonly [string, Partial<ApiKey>]>([
    ['a key with one scope', { scopes: ['pets:write'] }],
    [
      'a key with every field',
      {
        scopes: ['pets:read', 'pets:write'],
        rateLimit: { requests: 600, seconds: 60 },
        expiresAt: at(1),
        lastUsedAt: at(0),
      },
    ],
  ])('gives its caller an id, a label, scopes and a rate limit, and nothing else: %s', async (_, fields) => {
    const keys = new Watched();
    const { token, key } = await stored(keys, fields);
    const { id, label, scopes, rateLimit } = key;
    const expected = { id, label, scopes, ...(rateLimit && { rateLimit }) };
    const verifier = verifierOf(keys);

    expect(await verifier.verify(token)).toStrictEqual(expected);
    expect(await verifier.verify(token)).toStrictEqual(expected);
  });

  it('is rejected with a wrong secret and a valid checksum', async () => {
    const keys = new Watched();
    const { token } = await withWrongSecret(keys);
    const verifier = verifierOf(keys);

    expect(idOf(token)).toBeDefined();
    expect(await verifier.verify(token)).toBeUndefined();
    expect(keys.asked).toBe(1);
  });

  it.each<readonly [string, Partial<ApiKey>]>([
    ['expires now', { expiresAt: at(0) }],
    ['has expired', { expiresAt: at(-1) }],
    ['is revoked', { revokedAt: at(-1) }],
    ['was revoked by a clock that is ahead', { revokedAt: at(1) }],
    ['is revoked before it expires', { revokedAt: at(-1), expiresAt: at(1) }],
  ])('is rejected when it %s', async (_, fields) => {
    const keys = new Watched();
    const { token } = await stored(keys, fields);

    expect(await verifierOf(keys).verify(token)).toBeUndefined();
  });

  it('is rejected when no key has its id', async () => {
    const keys = new Watched();
    await stored(keys);

    expect(await verifierOf(keys).verify(mintKey().token)).toBeUndefined();
    expect(keys.asked).toBe(1);
  });

  it('is rejected when it expires during the query', async () => {
    const keys = new Watched();
    const { token } = await stored(keys, { expiresAt: at(1) });
    const held = keys.hold();
    const verifying = verifierOf(keys).verify(token);
    now = at(1);
    held.resolve();

    expect(await verifying).toBeUndefined();
  });
});

describe('a refusal', () => {
  it.each<readonly [TokenRefusal, (keys: Watched) => Promise<string>]>([
    ['unknown', async () => ''],
    ['unknown', async () => mintKey().token],
    ['unknown', async (keys) => (await withWrongSecret(keys)).token],
    ['expired', async (keys) => (await stored(keys, { expiresAt: at(0) })).token],
    ['revoked', async (keys) => (await stored(keys, { revokedAt: at(0), expiresAt: at(0) })).token],
  ])('is reported as %s', async (reason, tokenOf) => {
    const keys = new Watched();
    const { token: valid } = await stored(keys);
    const token = await tokenOf(keys);
    const reasons: TokenRefusal[] = [];
    const verifier = new StoredTokenVerifier(
      keys,
      tokenForm,
      () => now,
      (refusal) => reasons.push(refusal),
    );

    await verifier.verify(valid);
    expect(reasons).toStrictEqual([]);
    await verifier.verify(token);
    expect(reasons).toStrictEqual([reason]);
  });
});

describe('a malformed token', () => {
  const { token } = mintKey();
  const changed = (index: number) =>
    token.slice(0, index) + (token[index] === '0' ? '1' : '0') + token.slice(index + 1);

  it.each([
    ['empty', ''],
    ['of another form', 'tom-0123456789abcdef'],
    ['with another checksum', changed(70)],
    ['with another secret', changed(22)],
    ['with another id', changed(5)],
    ['very long', token.repeat(200)],
  ])('never reaches the storage: %s', async (_, text) => {
    const keys = new Watched();
    await keys.insert(aKey(1));
    keys.failing = true;

    expect(await verifierOf(keys).verify(text)).toBeUndefined();
    expect(keys.asked).toBe(0);
  });
});

describe('a trusted key', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is trusted for five seconds and no longer', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);
    const expected = await verifier.verify(token);

    vi.advanceTimersByTime(REMEMBERED_MS - 1);
    expect(await verifier.verify(token)).toStrictEqual(expected);
    expect(keys.asked).toBe(1);

    vi.advanceTimersByTime(1);
    expect(await verifier.verify(token)).toStrictEqual(expected);
    expect(keys.asked).toBe(2);

    // Another five seconds from the second query.
    vi.advanceTimersByTime(REMEMBERED_MS - 1);
    await verifier.verify(token);
    expect(keys.asked).toBe(2);
  });

  it('is not trusted longer because it is used', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);
    for (let ms = 0; ms < REMEMBERED_MS; ms += 100) {
      await verifier.verify(token);
      vi.advanceTimersByTime(100);
    }
    expect(keys.asked).toBe(1);

    await verifier.verify(token);

    expect(keys.asked).toBe(2);
  });

  it('is trusted from the start of the query, because a revocation may overtake the result', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);
    const held = keys.hold();
    const verifying = verifier.verify(token);
    vi.advanceTimersByTime(REMEMBERED_MS - 1);
    held.resolve();
    await verifying;

    await verifier.verify(token);
    expect(keys.asked).toBe(1);
    vi.advanceTimersByTime(1);
    await verifier.verify(token);
    expect(keys.asked).toBe(2);
  });

  it('is trusted until it expires, and then rejected', async () => {
    const keys = new Watched();
    const { token } = await stored(keys, { expiresAt: at(100) });
    const verifier = verifierOf(keys);
    await verifier.verify(token);

    now = at(99);
    expect(await verifier.verify(token)).toBeDefined();
    expect(keys.asked).toBe(1);
    now = at(100);
    expect(await verifier.verify(token)).toBeUndefined();
    expect(await verifier.verify(token)).toBeUndefined();
  });

  it.each<readonly [string, (keys: ApiKeyRepository, id: string) => Promise<unknown>]>([
    ['a revocation', async (keys, id) => keys.revoke(id, now)],
    ['an earlier expiry', async (keys, id) => keys.expire(id, now)],
  ])('is rejected within five seconds of %s', async (_, end) => {
    const keys = new Watched();
    const { token, key } = await stored(keys);
    const verifier = verifierOf(keys);
    await verifier.verify(token);
    await end(keys, key.id);

    vi.advanceTimersByTime(REMEMBERED_MS);

    expect(await verifier.verify(token)).toBeUndefined();
    expect(await verifier.verify(token)).toBeUndefined();
  });

  // So the time of a rejection does not tell whether the key exists.
  it('was valid: rejections are never cached', async () => {
    const keys = new Watched();
    const unknown = mintKey();
    const { token: wrong } = await withWrongSecret(keys);
    const { token: expired } = await stored(keys, { expiresAt: at(0) });
    const { token: revoked } = await stored(keys, { revokedAt: at(0) });
    const verifier = verifierOf(keys);
    for (let again = 0; again < 3; again++) {
      for (const token of [unknown.token, wrong, expired, revoked]) await verifier.verify(token);
    }
    expect(keys.asked).toBe(12);

    // A key that is created after a rejection is valid at once.
    const { token, ...minted } = unknown;
    await keys.insert(aKey(1, minted));
    expect(await verifier.verify(token)).toBeDefined();
  });

  it('stays valid while the storage is away, but not longer than five seconds', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);
    const expected = await verifier.verify(token);
    keys.failing = true;

    vi.advanceTimersByTime(REMEMBERED_MS - 1);
    expect(await verifier.verify(token)).toStrictEqual(expected);
    vi.advanceTimersByTime(1);
    await expect(verifier.verify(token)).rejects.toThrow(StorageUnavailable);
    await expect(verifier.verify(token)).rejects.toThrow(StorageUnavailable);

    keys.failing = false;
    expect(await verifier.verify(token)).toStrictEqual(expected);
  });

  it('is only one that the storage confirmed: failures are never cached', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);
    keys.failing = true;
    for (const one of [token, mintKey().token]) {
      await expect(verifier.verify(one)).rejects.toThrow(StorageUnavailable);
    }

    keys.failing = false;

    expect(await verifier.verify(token)).toBeDefined();
    expect(keys.asked).toBe(3);
  });

  it('is found by the whole token, not by its id', async () => {
    const keys = new Watched();
    const { token: right, key } = await stored(keys);
    const verifier = verifierOf(keys);
    await verifier.verify(right);

    // The same id and a valid checksum.
    const wrong = withSecret(right, '0'.repeat(43));

    expect(idOf(wrong)).toBe(key.id);
    expect(await verifier.verify(wrong)).toBeUndefined();
    expect(await verifier.verify(right)).toBeDefined();
  });

  it('is forgotten as the oldest of more than ten thousand', async () => {
    const keys = new Watched();
    const tokens: string[] = [];
    for (let n = 0; n <= 10_000; n++) tokens.push((await stored(keys)).token);
    const verifier = verifierOf(keys);
    for (const token of tokens) await verifier.verify(token);
    expect(keys.asked).toBe(10_001);

    for (const token of [tokens[1]!, tokens[5_000]!, tokens[10_000]!]) await verifier.verify(token);
    expect(keys.asked).toBe(10_001);

    await verifier.verify(tokens[0]!);
    expect(keys.asked).toBe(10_002);

    // A key that was looked up again is the youngest. It is not the oldest before: then it would make room for itself.
    vi.advanceTimersByTime(REMEMBERED_MS);
    await verifier.verify(tokens[3]!);
    for (let n = 0; n < 2; n++) await verifier.verify((await stored(keys)).token);
    await verifier.verify(tokens[3]!);
    expect(keys.asked).toBe(10_005);
  });
});

describe('recordUses', () => {
  it('stores when a key was last used, trusted or not', async () => {
    const keys = new Watched();
    const [tom, ann] = [await stored(keys), await stored(keys)];
    const verifier = verifierOf(keys);
    await verifier.verify(tom.token);
    now = at(10);
    await verifier.verify(ann.token);
    now = at(20);
    await verifier.verify(tom.token);

    await verifier.recordUses();

    expect(await keys.findById(tom.key.id)).toStrictEqual({ ...tom.key, lastUsedAt: at(20) });
    expect(await keys.findById(ann.key.id)).toStrictEqual({ ...ann.key, lastUsedAt: at(10) });
    expect(keys.written).toStrictEqual([
      new Map([
        [tom.key.id, at(20)],
        [ann.key.id, at(10)],
      ]),
    ]);
  });

  it('is the only write: verifying a token writes nothing', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);

    for (let again = 0; again < 10; again++) await verifier.verify(token);

    expect(keys.written).toStrictEqual([]);
  });

  it('stores nothing without a use, and each use once', async () => {
    const keys = new Watched();
    const { token } = await stored(keys);
    const verifier = verifierOf(keys);

    await verifier.recordUses();
    expect(keys.written).toStrictEqual([]);

    await verifier.verify(token);
    await verifier.recordUses();
    await verifier.recordUses();
    expect(keys.written).toHaveLength(1);
  });

  it('ignores wrong, unknown, expired and revoked keys', async () => {
    const keys = new Watched();
    const verifier = verifierOf(keys);
    const tokens = [
      (await withWrongSecret(keys)).token,
      mintKey().token,
      (await stored(keys, { expiresAt: at(0) })).token,
      (await stored(keys, { revokedAt: at(0) })).token,
      '',
    ];
    for (const token of tokens) await verifier.verify(token);

    await verifier.recordUses();

    expect(keys.written).toStrictEqual([]);
  });

  it('keeps uses for the next call when it fails', async () => {
    const keys = new Watched();
    const [tom, ann, zoe] = [await stored(keys), await stored(keys), await stored(keys)];
    const verifier = verifierOf(keys);
    await verifier.verify(tom.token);
    await verifier.verify(ann.token);
    keys.failing = true;
    await expect(verifier.recordUses()).rejects.toThrow(StorageUnavailable);
    keys.failing = false;
    now = at(10);
    await verifier.verify(ann.token);
    await verifier.verify(zoe.token);

    await verifier.recordUses();
    await verifier.recordUses();

    expect(keys.written).toStrictEqual([
      new Map([
        [tom.key.id, at(0)],
        [ann.key.id, at(10)],
        [zoe.key.id, at(10)],
      ]),
    ]);
  });

  it('prefers a use that happened while an older one could not be stored', async () => {
    const keys = new Watched();
    const { token, key } = await stored(keys);
    const verifier = verifierOf(keys);
    await verifier.verify(token);
    const held = keys.hold();
    const recording = verifier.recordUses();
    now = at(10);
    await verifier.verify(token);
    held.reject(new StorageUnavailable('gone'));
    await expect(recording).rejects.toThrow(StorageUnavailable);

    await verifier.recordUses();

    expect(keys.written).toStrictEqual([new Map([[key.id, at(10)]])]);
  });

  it('never goes back in time, whichever query finishes first', async () => {
    const keys = new Watched();
    const { token, key } = await stored(keys);
    const verifier = verifierOf(keys);
    const held = keys.hold();
    const slow = verifier.verify(token);
    now = at(10);
    await verifier.verify(token);
    held.resolve();
    await slow;

    await verifier.recordUses();

    expect(keys.written).toStrictEqual([new Map([[key.id, at(10)]])]);
  });
});

/** A repository that counts its calls and can be slow or away. */
class Watched extends InMemoryApiKeyRepository {
  failing = false;
  /** The number of lookups. */
  asked = 0;
  /** The uses that were stored. */
  readonly written: ReadonlyMap<string, Date>[] = [];
  #held: PromiseWithResolvers<void> | undefined;

  /** The next call waits for the returned promise. */
  hold(): PromiseWithResolvers<void> {
    this.#held = Promise.withResolvers();
    return this.#held;
  }

  override async findById(id: string): Promise<ApiKey | undefined> {
    this.asked++;
    await this.#pass();
    return super.findById(id);
  }

  override async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    await this.#pass();
    await super.recordUse(uses);
    this.written.push(uses);
  }

  async #pass(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.promise;
    if (this.failing) throw new StorageUnavailable('away');
  }
}

function verifierOf(keys: ApiKeyRepository): StoredTokenVerifier {
  return new StoredTokenVerifier(keys, tokenForm, () => now);
}

function at(ms: number): Date {
  return new Date(START + ms);
}

/** Stores a new key. */
async function stored(
  keys: ApiKeyRepository,
  fields: Partial<ApiKey> = {},
): Promise<{ readonly token: string; readonly key: ApiKey }> {
  const { token, ...minted } = mintKey();
  const key = aKey(1, { ...minted, ...fields });
  await keys.insert(key);
  return { token, key };
}

/** A token with a valid checksum and the id of a stored key, but another secret. */
async function withWrongSecret(keys: ApiKeyRepository): Promise<{ readonly token: string }> {
  const { token } = await stored(keys);
  return { token: withSecret(token, '0'.repeat(43)) };
}

/** The same token with another secret and a valid checksum. */
function withSecret(token: string, secret: string): string {
  const body = token.slice(0, -49) + secret;
  let checksum = '';
  for (let rest = crc32(body); checksum.length < 6; rest = Math.floor(rest / 62)) {
    checksum = BASE62[rest % 62] + checksum;
  }
  return body + checksum;
}
