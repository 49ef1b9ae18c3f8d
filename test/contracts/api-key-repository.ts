import { expect, it } from 'vitest';
import { ApiKeyIdTaken } from '../../src/application/keys/errors.ts';
import { throwIfDamaged } from '../../src/application/keys/stored-keys.ts';
import {
  type ApiKey,
  apiKeyProblems,
  KEY_LABEL_MAX_LENGTH,
  USE_INTERVAL_MS,
} from '../../src/domain/api-key.ts';
import { RATE_LIMIT_MAX } from '../../src/domain/rate-limit.ts';
import { aKey, at } from '../support/api-keys.ts';
import { numbers } from '../support/numbers.ts';
import { tamper } from '../support/pets.ts';
import { ODD_TEXTS } from './odd-texts.ts';
import { openStore, type TestedStorage } from './storages.ts';

/** Returns a key in which every field has a value. Each call returns a new object, because tests change its dates. */
function fullKey(n = 1): ApiKey {
  return aKey(n, {
    scopes: ['pets:read', 'pets:write'],
    expiresAt: at(86_400_001),
    rateLimit: { requests: 600, seconds: 60 },
    originId: aKey(9).id,
    revokedAt: at(5_003),
    lastUsedAt: at(4_007),
  });
}

/** The latest time that a `Date` can hold, in milliseconds since the start of 1970. */
const LATEST_TIME_MS = 8_640_000_000_000_000;

/** Times that a storage could round or cut off, in milliseconds since the start of 1970. */
const ODD_TIMES_MS = [
  0,
  1,
  -1,
  LATEST_TIME_MS,
  -LATEST_TIME_MS,
  // The number of seconds in this time is too great for an int32.
  2 ** 31 * 1000 + 1,
  // The last millisecond of a second. Rounding to seconds would change this time.
  1_797_000_000_999,
];

const ODD_LABELS = [...ODD_TEXTS, '\u{1f415}'.repeat(KEY_LABEL_MAX_LENGTH)].filter(
  (label) => apiKeyProblems(aKey(1, { label })).length === 0,
);

/** Texts that are not the id of a stored key. A careless adapter could read some of them as a query or a pattern. */
const UNKNOWN_IDS = [
  '',
  '__proto__',
  'constructor',
  "' OR 1=1 --",
  '%',
  '$ne',
  '{"$gt":""}',
  '\0',
  `${aKey().id}\0`,
  `${aKey().id} `,
  aKey().id.slice(1),
  // The id of the stored key without its leading zeros.
  '1',
  // One half of a surrogate pair, which is not valid Unicode text.
  '\ud800',
  aKey().id.repeat(10_000),
];

/** Returns keys with values that an adapter could change by mistake. Each key has a different id. */
function oddKeys(): ApiKey[] {
  const fields: readonly Partial<ApiKey>[] = [
    { scopes: ['pets:write'] },
    { scopes: ['pets:write', 'pets:read'] },
    { rateLimit: { requests: 1, seconds: 1 } },
    { rateLimit: { requests: RATE_LIMIT_MAX.requests, seconds: RATE_LIMIT_MAX.seconds } },
    { digest: '0'.repeat(64) },
    { digest: 'f'.repeat(64) },
    { id: 'f'.repeat(16) },
    // An adapter that stores ids as numbers would change these ids.
    { id: '1234567890123456' },
    { id: '00000000000012e3' },
    // Two keys that were created at the same instant.
    { id: 'e'.repeat(16), createdAt: at(2_000) },
    { id: 'd'.repeat(16), createdAt: at(2_000) },
    ...ODD_LABELS.map((label) => ({ label })),
    ...ODD_TIMES_MS.map((ms) => ({
      createdAt: new Date(ms),
      expiresAt: new Date(ms),
      revokedAt: new Date(ms),
      lastUsedAt: new Date(ms),
    })),
  ];
  return [fullKey(1000), ...fields.map((some, n) => aKey(n, some))];
}

/**
 * The tests that every `ApiKeyRepository` must pass. {@link apiKeyRepositoryModel} tests random sequences of calls.
 */
export function apiKeyRepositoryContract(storage: TestedStorage): void {
  it('returns each key exactly as it was stored', async () => {
    const { keys } = await openStore(storage);
    for (const key of oddKeys()) expect(await keys.insert(key)).toBeUndefined();

    for (const key of oddKeys()) expect(await keys.findById(key.id)).toStrictEqual(key);
    const inOrder = oddKeys().toSorted(
      (a, b) => Number(a.createdAt) - Number(b.createdAt) || (a.id < b.id ? -1 : 1),
    );
    expect(await keys.list()).toStrictEqual(inOrder);
  });

  it('stores the fields of a key, and no other field of the inserted object', async () => {
    const { keys } = await openStore(storage);
    const withToken = { ...fullKey(), token: 'secret', _id: 'odd' };

    await keys.insert(withToken);
    await keys.revoke(withToken.id, at(1));

    const expected = { ...fullKey(), revokedAt: at(1) };
    expect(await keys.findById(withToken.id)).toStrictEqual(expected);
    expect(await keys.list()).toStrictEqual([expected]);
  });

  it('finds and changes no key when the id is a pattern, a query or a part of a stored id', async () => {
    const { keys } = await openStore(storage);
    await keys.insert(fullKey());

    for (const id of UNKNOWN_IDS) {
      expect(await keys.findById(id)).toBeUndefined();
      expect(await keys.revoke(id, at(1))).toBeUndefined();
      expect(await keys.expire(id, at(1))).toBeUndefined();
    }
    await keys.recordUse(new Map(UNKNOWN_IDS.map((id) => [id, at(LATEST_TIME_MS / 2)])));

    expect(await keys.list()).toStrictEqual([fullKey()]);
  });

  it('records the uses of the stored keys when a call has the ids of 1,100 keys', async () => {
    const { keys } = await openStore(storage);
    const all = numbers(1_100).map((n) => aKey(n, { lastUsedAt: at(n) }));
    // Only three of the keys are stored, and recordUse ignores the other ids.
    const storedNumbers = [0, 500, 1_099];
    for (const n of storedNumbers) await keys.insert(aKey(n));

    await keys.recordUse(new Map(all.map(({ id }, n) => [id, at(n)])));

    expect(await keys.list()).toStrictEqual(storedNumbers.map((n) => all[n]));
  });

  it('keeps a stored key unchanged when the caller changes the inserted object during or after the insert', async () => {
    const { keys } = await openStore(storage);
    const first = fullKey();
    const inserting = keys.insert(first);
    tamper(first);
    await inserting;
    expect(await keys.list()).toStrictEqual([fullKey()]);

    const second = fullKey(2);
    await keys.insert(second);
    tamper(second);
    expect(await keys.list()).toStrictEqual([fullKey(), fullKey(2)]);
  });

  it('keeps stored times unchanged when the caller changes its Date objects during or after the calls', async () => {
    const { keys } = await openStore(storage);
    await keys.insert(aKey(1));
    /** Records a use, an expiry and a revocation at these `times`. Calls `change` before the three calls have ended. */
    async function useAndEnd(times: readonly [Date, Date, Date], change: () => void) {
      const uses = new Map([[aKey().id, times[0]]]);
      const calls = [
        keys.recordUse(uses),
        keys.expire(aKey().id, times[1]),
        keys.revoke(aKey().id, times[2]),
      ];
      change();
      uses.set(aKey().id, at(99)).set(aKey(2).id, at(99));
      await Promise.all(calls);
      for (const time of times) time.setTime(0);
    }

    const first = [at(10), at(20), at(30)] as const;
    await useAndEnd(first, () => first.forEach((time) => time.setTime(0)));
    expect(await keys.findById(aKey().id)).toStrictEqual(
      aKey(1, { lastUsedAt: at(10), expiresAt: at(20), revokedAt: at(30) }),
    );
    await useAndEnd([at(10 + USE_INTERVAL_MS), at(19), at(29)], () => {});
    await keys.recordUse(new Map([[aKey().id, at(9 + 2 * USE_INTERVAL_MS)]]));
    expect(await keys.findById(aKey().id)).toStrictEqual(
      aKey(1, { lastUsedAt: at(10 + USE_INTERVAL_MS), expiresAt: at(19), revokedAt: at(29) }),
    );
  });

  it('keeps a stored key unchanged when the caller changes a returned key or list', async () => {
    const { keys } = await openStore(storage);
    await keys.insert(fullKey());
    await keys.insert(aKey(2));

    tamper((await keys.findById(aKey(1).id))!);
    tamper((await keys.revoke(aKey(1).id, at(5_003)))!);
    tamper((await keys.expire(aKey(1).id, at(86_400_001)))!);
    const list = await keys.list();
    for (const key of list) tamper(throwIfDamaged(key));
    if (Array.isArray(list) && !Object.isFrozen(list)) list.length = 0;
    const [changed, unchanged] = await Promise.all([keys.findById(aKey().id), keys.findById(aKey().id)]);
    tamper(changed!);

    expect(unchanged).toStrictEqual(fullKey());
    expect(await keys.list()).toStrictEqual([fullKey(), aKey(2)]);
    expect(await keys.findById(aKey(1).id)).toStrictEqual(fullKey());
  });

  it('stores one key and rejects the others when 20 keys with the same id are inserted at the same time', async () => {
    const { keys } = await openStore(storage);
    const keysWithOneId = numbers(20).map((n) => ({ ...aKey(n), id: aKey(1).id }));

    const outcomes = await Promise.allSettled(keysWithOneId.map(async (key) => keys.insert(key)));

    const storedKeys = keysWithOneId.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    expect(await keys.list()).toStrictEqual(storedKeys);
    expect(storedKeys).toHaveLength(1);
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    for (const error of refused) expect(error).toStrictEqual(new ApiKeyIdTaken(aKey(1).id));
  });

  it('keeps the earliest revocation, the earliest expiry and the latest use when two processes record them at the same time', async () => {
    const { keys, openKeys } = await openStore(storage);
    const repositories = [keys, await openKeys()] as const;
    const storedKeys = numbers(5).map((n) => aKey(n));
    await Promise.all(storedKeys.flatMap((key) => repositories.map((repository) => repository.insert(key))));
    const calls = [5, 2, 8, 1, 9, 4, 7, 3, 6].flatMap((n) =>
      storedKeys.map(({ id }) => [repositories[n % 2]!, id, n] as const),
    );

    await Promise.all(
      calls.flatMap(([repository, id, n]) => [
        repository.revoke(id, at(n)),
        repository.expire(id, at(100 + n)),
        repository.recordUse(new Map([[id, at(n * USE_INTERVAL_MS)]])),
      ]),
    );

    const ended = { revokedAt: at(1), expiresAt: at(101), lastUsedAt: at(9 * USE_INTERVAL_MS) };
    expect(await keys.list()).toStrictEqual(storedKeys.map((key) => ({ ...key, ...ended })));
  });
}
