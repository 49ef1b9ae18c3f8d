import { beforeEach, expect, it } from 'vitest';
import { InMemoryApiKeyRepository } from '../../../src/adapters/memory/api-key-repository.ts';
import { StoredTokenVerifier } from '../../../src/application/keys/token-verifiers.ts';
import { mintKey, tokenForm } from '../../../src/adapters/tokens/token.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import type { TokenRefusal } from '../../../src/application/ports/token-verifier.ts';
import type { ApiKey } from '../../../src/domain/api-key.ts';
import { aKey } from '../../support/api-keys.ts';
import { type FakeClock, fakeClock } from '../../support/fake-clock.ts';

const TRUSTED_MS = 5_000;
const START = Date.UTC(2026, 10, 20, 12);

/** With these fields, a stored key does not match its token. */
const OTHER_SECRET = { digest: aKey(2).digest };

/** The time of the wall clock, by which keys expire. */
let now: Date;
/** The monotonic clock, by which the verifier trusts keys. */
let clock: FakeClock;

beforeEach(() => {
  now = new Date(START);
  clock = fakeClock();
});

it('a key is rejected when it expires while the storage is queried', async () => {
  const keys = new WatchedKeys();
  const { token } = await storeKey(keys, { expiresAt: at(1) });
  const held = keys.hold();
  const verifying = verifierOf(keys).verify(token);
  now = at(1);
  held.resolve();

  expect(await verifying).toBeUndefined();
});

it.each<readonly [TokenRefusal, (keys: WatchedKeys) => Promise<string>]>([
  ['unknown', async () => ''],
  ['unknown', async () => mintKey().token],
  ['unknown', async (keys) => (await storeKey(keys, OTHER_SECRET)).token],
  ['unknown', async (keys) => (await storeKey(keys, { ...OTHER_SECRET, revokedAt: at(0) })).token],
  ['expired', async (keys) => (await storeKey(keys, { expiresAt: at(0) })).token],
  ['revoked', async (keys) => (await storeKey(keys, { revokedAt: at(0), expiresAt: at(0) })).token],
])('a refusal is reported as %s, and is not recorded as a use of the key', async (reason, tokenOf) => {
  const keys = new WatchedKeys();
  const { token: valid } = await storeKey(keys);
  const token = await tokenOf(keys);
  const reasons: TokenRefusal[] = [];
  const refuse = (refusal: TokenRefusal) => void reasons.push(refusal);
  const verifier = new StoredTokenVerifier(keys, tokenForm, () => now, refuse);

  expect(await verifier.verify(token)).toBeUndefined();
  expect(reasons).toStrictEqual([reason]);
  await verifier.recordUses();
  expect(keys.written).toStrictEqual([]);
  expect(await verifier.verify(valid)).toBeDefined();
  expect(reasons).toStrictEqual([reason]);
});

it('a malformed token never reaches the storage', async () => {
  const keys = new WatchedKeys();
  const { token } = await storeKey(keys);
  const changed = token.slice(0, 22) + (token[22] === '0' ? '1' : '0') + token.slice(23);

  for (const wrong of ['', 'tom-0123456789abcdef', changed, token.repeat(200)]) {
    expect(await verifierOf(keys).verify(wrong)).toBeUndefined();
  }
  expect(keys.lookups).toBe(0);
});

it('a trusted key is returned with all fields that a request needs, and is rejected after its expiry', async () => {
  const keys = new WatchedKeys();
  const verifier = verifierOf(keys);
  const limited = { rateLimit: { requests: 1, seconds: 60 }, originId: aKey(7).id };
  const [tom, ann] = [await storeKey(keys, limited), await storeKey(keys, { expiresAt: at(10) })];
  const { label, scopes } = aKey(1);

  expect(await verifier.verify(tom.token)).toEqual({ id: tom.key.id, label, scopes, ...limited });
  for (const ms of [0, 9]) {
    now = at(ms);
    expect(await verifier.verify(ann.token)).toEqual({ id: ann.key.id, label, scopes });
  }
  expect(keys.lookups).toBe(2);
  now = at(10);
  expect(await verifier.verify(ann.token)).toBeUndefined();
});

it('a key is trusted for 5 s from the start of its query, because it may be revoked before the result arrives', async () => {
  const keys = new WatchedKeys();
  const { token } = await storeKey(keys);
  const verifier = verifierOf(keys);
  const held = keys.hold();
  const verifying = verifier.verify(token);
  clock.advance(TRUSTED_MS - 1);
  held.resolve();
  const expected = await verifying;

  for (const [ms, lookups] of [
    [0, 1],
    [1, 2],
    [TRUSTED_MS - 1, 2],
    [1, 3],
  ] as const) {
    clock.advance(ms);
    expect(await verifier.verify(token)).toEqual(expected);
    expect(keys.lookups).toBe(lookups);
  }
});

// Every rejection needs a query, so its time does not reveal whether the key exists.
it('the verifier never caches a rejection', async () => {
  const keys = new WatchedKeys();
  const unknown = mintKey();
  const { token: wrong } = await storeKey(keys, OTHER_SECRET);
  const { token: expired } = await storeKey(keys, { expiresAt: at(0) });
  const { token: revoked } = await storeKey(keys, { revokedAt: at(0) });
  const verifier = verifierOf(keys);
  for (let n = 0; n < 3; n++) {
    for (const token of [unknown.token, wrong, expired, revoked]) await verifier.verify(token);
  }
  expect(keys.lookups).toBe(12);

  // A key that is created after a rejection is valid immediately.
  const { token, ...minted } = unknown;
  await keys.insert(aKey(1, minted));
  expect(await verifier.verify(token)).toBeDefined();
});

it('a trusted key stays valid for at most 5 s while the storage is unavailable', async () => {
  const keys = new WatchedKeys();
  const { token } = await storeKey(keys);
  const verifier = verifierOf(keys);
  const expected = await verifier.verify(token);
  keys.failing = true;

  clock.advance(TRUSTED_MS - 1);
  expect(await verifier.verify(token)).toEqual(expected);
  clock.advance(1);
  // A failure is never cached.
  for (const one of [token, token, mintKey().token]) {
    await expect(verifier.verify(one)).rejects.toThrow(StorageUnavailable);
  }

  keys.failing = false;
  expect(await verifier.verify(token)).toEqual(expected);
  expect(keys.lookups).toBe(5);
});

it('the oldest trusted key is forgotten when there are more than 10,000', async () => {
  const keys = new WatchedKeys();
  const tokens: string[] = [];
  for (let n = 0; n <= 10_000; n++) tokens.push((await storeKey(keys)).token);
  const verifier = verifierOf(keys);
  for (const token of tokens) await verifier.verify(token);
  expect(keys.lookups).toBe(10_001);

  for (const token of [tokens[1]!, tokens[5_000]!, tokens[10_000]!]) await verifier.verify(token);
  expect(keys.lookups).toBe(10_001);

  await verifier.verify(tokens[0]!);
  expect(keys.lookups).toBe(10_002);

  // A key that is looked up again becomes the youngest, so it is not forgotten when two new keys come. Key 3 is not the
  // oldest key here, because the oldest key would be forgotten to make room for itself.
  clock.advance(TRUSTED_MS);
  await verifier.verify(tokens[3]!);
  for (let n = 0; n < 2; n++) await verifier.verify((await storeKey(keys)).token);
  await verifier.verify(tokens[3]!);
  expect(keys.lookups).toBe(10_005);
});

it('recordUses stores the last use of each key once, of queried and of trusted keys, and writes nothing without a use', async () => {
  const keys = new WatchedKeys();
  const [tom, ann] = [await storeKey(keys), await storeKey(keys)];
  const verifier = verifierOf(keys);
  await verifier.recordUses();
  await verifier.verify(tom.token);
  now = at(10);
  await verifier.verify(ann.token);
  now = at(20);
  await verifier.verify(tom.token);
  expect(keys.written).toStrictEqual([]);

  await verifier.recordUses();
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

it('recordUses keeps the uses for the next call when it fails, and then stores the later of two uses', async () => {
  const keys = new WatchedKeys();
  const [tom, ann, zoe] = [await storeKey(keys), await storeKey(keys), await storeKey(keys)];
  const verifier = verifierOf(keys);
  await verifier.verify(tom.token);
  await verifier.verify(ann.token);
  const held = keys.hold();
  const recording = verifier.recordUses();
  now = at(10);
  await verifier.verify(ann.token);
  held.reject(new StorageUnavailable('gone'));
  await expect(recording).rejects.toThrow(StorageUnavailable);
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

it('recordUses stores the latest use, even if the query of an earlier use finishes later', async () => {
  const keys = new WatchedKeys();
  const { token, key } = await storeKey(keys);
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

/** A repository that counts its calls, and that can be slow or unavailable. */
class WatchedKeys extends InMemoryApiKeyRepository {
  failing = false;
  lookups = 0;
  /** The uses of each call that stored uses. */
  readonly written: ReadonlyMap<string, Date>[] = [];
  #nextCall: PromiseWithResolvers<void> | undefined;

  /** Makes the next call wait until the returned promise is settled. */
  hold(): PromiseWithResolvers<void> {
    this.#nextCall = Promise.withResolvers();
    return this.#nextCall;
  }

  override async findById(id: string): Promise<ApiKey | undefined> {
    this.lookups++;
    await this.#waitOrFail();
    return super.findById(id);
  }

  override async recordUse(uses: ReadonlyMap<string, Date>): Promise<void> {
    await this.#waitOrFail();
    await super.recordUse(uses);
    this.written.push(uses);
  }

  async #waitOrFail(): Promise<void> {
    const held = this.#nextCall;
    this.#nextCall = undefined;
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

/** Stores a new key. Resolves with the key and its token. */
async function storeKey(
  keys: ApiKeyRepository,
  fields: Partial<ApiKey> = {},
): Promise<{ readonly token: string; readonly key: ApiKey }> {
  const { token, ...minted } = mintKey();
  const key = aKey(1, { ...minted, ...fields });
  await keys.insert(key);
  return { token, key };
}
