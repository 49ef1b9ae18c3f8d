import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiKeyIdTaken } from '../../src/application/keys/errors.ts';
import { throwIfDamaged } from '../../src/application/keys/stored-keys.ts';
import { type ApiKeyRepository, USE_INTERVAL_MS } from '../../src/application/ports/api-key-repository.ts';
import {
  type ApiKey,
  KEY_LABEL_MAX_LENGTH,
  RATE_LIMIT_MAX_REQUESTS,
  RATE_LIMIT_MAX_SECONDS,
} from '../../src/domain/api-key.ts';
import { aKey, at } from '../support/api-keys.ts';
import { numbers } from '../support/numbers.ts';
import { describeSecondRepository, type Lacks, openSecond } from './second-repository.ts';

export type ApiKeyStore = {
  readonly keys: ApiKeyRepository;
  /** Opens a second repository on the same store, as the command line does beside a service. */
  another?(): Promise<ApiKeyRepository>;
  close?(): Promise<void>;
};

type Fields = Partial<ApiKey>;

const OPTIONAL = ['expiresAt', 'rateLimit', 'originId', 'revokedAt', 'lastUsedAt'] as const;
type Optional = (typeof OPTIONAL)[number];

/** A key with every optional field except one. A new object for each call, because a Date is mutable. */
function full(n = 1, but?: Optional): ApiKey {
  const key: { -readonly [K in keyof ApiKey]: ApiKey[K] } = aKey(n, {
    scopes: ['pets:read', 'pets:write'],
    expiresAt: at(86_400_001),
    rateLimit: { requests: 600, seconds: 60 },
    originId: aKey(9).id,
    revokedAt: at(5_003),
    lastUsedAt: at(4_007),
  });
  if (but !== undefined) delete key[but];
  return key;
}

const LAST_INSTANT = 8_640_000_000_000_000;

const HOSTILE_IDS = [
  ['empty', ''],
  ['a word of JavaScript', '__proto__'],
  ['another word of JavaScript', 'constructor'],
  ['SQL', "' OR 1=1 --"],
  ['a pattern', '%'],
  ['an operator', '$ne'],
  ['JSON', '{"$gt":""}'],
  ['a NUL', '\0'],
  ['the id and a NUL', `${aKey().id}\0`],
  ['the id and a space', `${aKey().id} `],
  ['the id, shorter', aKey().id.slice(1)],
  ['the id as a number', '1'],
  ['a lone surrogate', '\ud800'],
  ['very long', aKey().id.repeat(10_000)],
] as const;

/**
 * The contract of {@link ApiKeyRepository}.
 *
 * @param open opens a new, empty store
 */
export function apiKeyRepositoryContract(
  name: string,
  open: () => Promise<ApiKeyStore>,
  lacks: Lacks = {},
): void {
  describe(`ApiKeyRepository contract: ${name}`, () => {
    let store: ApiKeyStore;
    let keys: ApiKeyRepository;

    beforeEach(async () => {
      store = await open();
      keys = store.keys;
    });
    afterEach(async () => store.close?.());

    async function insertAll(...all: readonly ApiKey[]): Promise<void> {
      for (const key of all) await keys.insert(key);
    }

    describe('round trip', () => {
      const only = (field: Optional): Fields => ({ [field]: full()[field] });

      it.each<readonly [string, Fields]>([
        ['no optional field', {}],
        ['every optional field', full()],
        ...OPTIONAL.map((field) => [`${field} alone`, only(field)] as const),
        ...OPTIONAL.map((field) => [`every optional field but ${field}`, full(1, field)] as const),
        ['one scope', { scopes: ['pets:write'] }],
        ['scopes in an unusual order', { scopes: ['pets:write', 'pets:read'] }],
        ['the least rate limit', { rateLimit: { requests: 1, seconds: 1 } }],
        [
          'the greatest rate limit',
          { rateLimit: { requests: RATE_LIMIT_MAX_REQUESTS, seconds: RATE_LIMIT_MAX_SECONDS } },
        ],
        ['the least digest', { digest: '0'.repeat(64) }],
        ['the greatest digest', { digest: 'f'.repeat(64) }],
        ['the greatest id', { id: 'f'.repeat(16) }],
        ['an id that is all digits', { id: '1234567890123456' }],
        // An adapter that takes this for a number changes it.
        ['an id that looks like a number', { id: '00000000000012e3' }],
      ])('stores a key exactly: %s', async (_, fields) => {
        const key = aKey(1, fields);

        expect(await keys.insert(key)).toBeUndefined();

        expect(await keys.findById(key.id)).toStrictEqual(aKey(1, fields));
        expect(await keys.list()).toStrictEqual([aKey(1, fields)]);
      });

      it.each([
        ['the epoch', 0],
        ['a millisecond after it', 1],
        ['a millisecond before it', -1],
        ['more seconds than an int32 holds', 2 ** 31 * 1000 + 1],
        ['the last millisecond of a second', 1_797_000_000_999],
        ['the last instant', LAST_INSTANT],
        ['the first instant', -LAST_INSTANT],
      ])('stores times to the millisecond: %s', async (_, ms) => {
        const time = () => new Date(ms);
        const key = () =>
          aKey(1, { createdAt: time(), expiresAt: time(), revokedAt: time(), lastUsedAt: time() });

        await keys.insert(key());

        expect(await keys.findById(key().id)).toStrictEqual(key());
        expect(await keys.list()).toStrictEqual([key()]);
      });

      it.each([
        ['a composed letter', 'Ren\u00e9'],
        ['the same letter, decomposed', 'Rene\u0301'],
        ['a compatibility character', '\ufb01do'],
        ['astral characters', '\u{1f415}\u{1d518}\u{20bb7}'],
        ['right-to-left text', '\u05db\u05dc\u05d1'],
        ['inner spaces', 'a  b'],
        ['query syntax', '$where.{"$gt":""}\'; DROP TABLE api_keys; --'],
        ['a word of JavaScript', '__proto__'],
        ['a number', '007'],
        ['the longest in bytes', '\u{1f415}'.repeat(KEY_LABEL_MAX_LENGTH)],
      ])('stores a label verbatim: %s', async (_, label) => {
        await keys.insert(aKey(1, { label }));

        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { label }));
        expect(await keys.list()).toStrictEqual([aKey(1, { label })]);
      });

      it('stores two keys that differ only in id and digest', async () => {
        const twin = aKey(2, { label: 'key 1', createdAt: at(1) });
        await insertAll(aKey(1), twin);

        expect(await keys.list()).toStrictEqual([aKey(1), twin]);
      });

      it('stores no other field, such as the token', async () => {
        const odd = { ...full(), token: 'secret', _id: 'odd' };

        await keys.insert(odd);
        await keys.revoke(odd.id, at(1));

        const expected = { ...full(), revokedAt: at(1) };
        expect(await keys.findById(odd.id)).toStrictEqual(expected);
        expect(await keys.list()).toStrictEqual([expected]);
      });
    });

    describe('insert', () => {
      it('leaves an existing key with the same digest unchanged', async () => {
        await insertAll(aKey(1), aKey(2));

        expect(await keys.insert({ ...full(), label: 'changed', createdAt: at(9) })).toBeUndefined();

        expect(await keys.list()).toStrictEqual([aKey(1), aKey(2)]);
      });

      it('leaves an existing key unchanged that has been used, shortened and revoked since', async () => {
        await insertAll(aKey(1));
        await keys.recordUse(new Map([[aKey().id, at(50)]]));
        await keys.expire(aKey().id, at(60));
        await keys.revoke(aKey().id, at(70));

        await keys.insert(aKey(1));

        expect(await keys.list()).toStrictEqual([
          aKey(1, { lastUsedAt: at(50), expiresAt: at(60), revokedAt: at(70) }),
        ]);
      });

      it('rejects another key with the same id, and changes nothing', async () => {
        await insertAll(full(), aKey(2));
        const another = { ...aKey(1), digest: aKey(3).digest };

        for (let again = 0; again < 2; again++) {
          const inserting = keys.insert(another);
          await expect(inserting).rejects.toThrow(ApiKeyIdTaken);
          await expect(inserting).rejects.toMatchObject({ kind: 'api-key-id-taken', id: aKey().id });
        }

        expect(await keys.list()).toStrictEqual([full(), aKey(2)]);
        expect(await keys.findById(aKey().id)).toStrictEqual(full());
      });

      it('rejects another key with the id of a revoked key', async () => {
        await insertAll(aKey(1, { revokedAt: at(1) }));

        await expect(keys.insert({ ...aKey(1), digest: aKey(3).digest })).rejects.toThrow(ApiKeyIdTaken);
        expect(await keys.list()).toStrictEqual([aKey(1, { revokedAt: at(1) })]);
      });
    });

    describe('an unknown id', () => {
      it.each([['well-formed', aKey(2).id] as const, ...HOSTILE_IDS])(
        'finds and changes nothing: %s',
        async (_, id) => {
          await insertAll(full());

          expect(await keys.findById(id)).toBeUndefined();
          expect(await keys.revoke(id, at(1))).toBeUndefined();
          expect(await keys.expire(id, at(1))).toBeUndefined();
          expect(await keys.recordUse(new Map([[id, at(LAST_INSTANT / 2)]]))).toBeUndefined();

          expect(await keys.list()).toStrictEqual([full()]);
        },
      );

      it('is any id in an empty store', async () => {
        expect(await keys.findById(aKey().id)).toBeUndefined();
        expect(await keys.revoke(aKey().id, at(1))).toBeUndefined();
        expect(await keys.expire(aKey().id, at(1))).toBeUndefined();
        expect(await keys.list()).toStrictEqual([]);
      });
    });

    describe('list', () => {
      it('contains every key, in any state', async () => {
        const all = numbers(250).map((n) =>
          n % 4 === 0 ? full(n) : aKey(n, [{}, { revokedAt: at(1) }, { expiresAt: at(1) }][n % 3]),
        );
        await insertAll(...all);

        expect(await keys.list()).toStrictEqual(all);
      });
    });

    describe('revoke', () => {
      it.each([
        ['a key without optional fields', () => aKey()],
        ['a key with all other fields', () => full(1, 'revokedAt')],
      ])('sets the instant and changes nothing else: %s', async (_, make) => {
        const before = make();
        await insertAll(before, aKey(2));

        const revoked = await keys.revoke(before.id, at(7_001));

        expect(revoked).toStrictEqual({ ...before, revokedAt: at(7_001) });
        expect(await keys.findById(before.id)).toStrictEqual(revoked);
        expect(await keys.list()).toStrictEqual([revoked, aKey(2)]);
      });
    });

    describe('expire', () => {
      it.each([
        ['a key without optional fields', () => aKey()],
        ['a key with all other fields', () => full(1, 'expiresAt')],
      ])('sets the instant and changes nothing else: %s', async (_, make) => {
        const before = make();
        await insertAll(before, aKey(2));

        const shortened = await keys.expire(before.id, at(7_001));

        expect(shortened).toStrictEqual({ ...before, expiresAt: at(7_001) });
        expect(await keys.findById(before.id)).toStrictEqual(shortened);
        expect(await keys.list()).toStrictEqual([shortened, aKey(2)]);
      });
    });

    describe('recordUse', () => {
      it.each([
        ['a key without optional fields', () => aKey()],
        ['a key with all other fields', () => full(1, 'lastUsedAt')],
      ])('records the first use and changes nothing else: %s', async (_, make) => {
        const before = make();
        await insertAll(before, aKey(2));

        expect(await keys.recordUse(new Map([[before.id, at(7_001)]]))).toBeUndefined();

        const used = { ...before, lastUsedAt: at(7_001) };
        expect(await keys.findById(before.id)).toStrictEqual(used);
        expect(await keys.list()).toStrictEqual([used, aKey(2)]);
      });

      it.each([
        ['a millisecond less than the interval', USE_INTERVAL_MS - 1, 0],
        ['exactly the interval', USE_INTERVAL_MS, USE_INTERVAL_MS],
        ['later', USE_INTERVAL_MS + 1, USE_INTERVAL_MS + 1],
        ['much later', LAST_INSTANT / 2, LAST_INSTANT / 2],
        ['the same', 0, 0],
        ['just before', -1, 0],
        ['long before', -10 * USE_INTERVAL_MS, 0],
      ])('records another use only after the interval: %s', async (_, ms, expected) => {
        await insertAll(aKey(1));
        await keys.recordUse(new Map([[aKey().id, at(0)]]));

        await keys.recordUse(new Map([[aKey().id, at(ms)]]));

        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { lastUsedAt: at(expected) }));
      });

      it('records several keys at once, compares each with its own last use, and ignores unknown ids', async () => {
        const before = [aKey(1), aKey(2, { lastUsedAt: at(1) }), aKey(3, { lastUsedAt: at(2) }), full(4)];
        await insertAll(...before);

        await keys.recordUse(
          new Map([
            [aKey(8).id, at(3)],
            ...HOSTILE_IDS.map(([, id]) => [id, at(3)] as const),
            [aKey(1).id, at(USE_INTERVAL_MS)],
            [aKey(2).id, at(USE_INTERVAL_MS + 1)],
            [aKey(9).id, at(4)],
            [aKey(3).id, at(USE_INTERVAL_MS + 1)],
          ]),
        );

        expect(await keys.list()).toStrictEqual([
          aKey(1, { lastUsedAt: at(USE_INTERVAL_MS) }),
          aKey(2, { lastUsedAt: at(USE_INTERVAL_MS + 1) }),
          aKey(3, { lastUsedAt: at(2) }),
          full(4),
        ]);
      });

      it('accepts an empty map', async () => {
        await insertAll(aKey(1), full(2));

        expect(await keys.recordUse(new Map())).toBeUndefined();

        expect(await keys.list()).toStrictEqual([aKey(1), full(2)]);
      });

      it('records more than a thousand keys at once', async () => {
        const all = numbers(1_100).map((n) => aKey(n));
        // In parts: each insert has a deadline, and a busy machine takes its time for all of them.
        for (let first = 0; first < all.length; first += 50) {
          await Promise.all(all.slice(first, first + 50).map(async (key) => keys.insert(key)));
        }

        await keys.recordUse(new Map(all.map(({ id }, n) => [id, at(n)])));

        expect(await keys.list()).toStrictEqual(all.map((key, n) => ({ ...key, lastUsedAt: at(n) })));
      });
    });

    describe('data isolation', () => {
      it('ignores changes to the inserted object during and after the call', async () => {
        const mine = full();
        const inserting = keys.insert(mine);
        tamper(mine);
        await inserting;
        expect(await keys.list()).toStrictEqual([full()]);

        const again = full(2);
        await keys.insert(again);
        tamper(again);
        expect(await keys.list()).toStrictEqual([full(), full(2)]);
      });

      it('ignores changes to the passed instants during and after the call', async () => {
        await insertAll(aKey(1));
        const [use, end, revocation] = [at(10), at(20), at(30)];
        const uses = new Map([[aKey().id, use]]);

        const calls = [
          keys.recordUse(uses),
          keys.expire(aKey().id, end),
          keys.revoke(aKey().id, revocation),
        ] as const;
        for (const time of [use, end, revocation]) time.setTime(0);
        uses.set(aKey().id, at(99));
        uses.set(aKey(2).id, at(99));
        await Promise.all(calls);
        const expected = aKey(1, { lastUsedAt: at(10), expiresAt: at(20), revokedAt: at(30) });
        expect(await keys.findById(aKey().id)).toStrictEqual(expected);

        const [use2, end2, revocation2] = [at(10 + USE_INTERVAL_MS), at(19), at(29)];
        await keys.recordUse(new Map([[aKey().id, use2]]));
        await keys.expire(aKey().id, end2);
        await keys.revoke(aKey().id, revocation2);
        for (const time of [use2, end2, revocation2]) time.setTime(0);
        expect(await keys.findById(aKey().id)).toStrictEqual(
          aKey(1, { lastUsedAt: at(10 + USE_INTERVAL_MS), expiresAt: at(19), revokedAt: at(29) }),
        );
      });

      it('ignores changes to the objects that it returned', async () => {
        await insertAll(full(), aKey(2));

        tamper(await keys.findById(aKey(1).id));
        tamper(await keys.revoke(aKey(1).id, at(5_003)));
        tamper(await keys.expire(aKey(1).id, at(86_400_001)));
        const list = await keys.list();
        for (const key of list) tamper(throwIfDamaged(key));
        if (Array.isArray(list) && !Object.isFrozen(list)) list.length = 0;

        expect(await keys.list()).toStrictEqual([full(), aKey(2)]);
        expect(await keys.findById(aKey(1).id)).toStrictEqual(full());
      });

      it('returns a new object to each caller', async () => {
        await insertAll(full());

        tamper(await keys.findById(aKey().id));
        const [mine, yours] = await Promise.all([keys.findById(aKey().id), keys.findById(aKey().id)]);
        tamper(mine);

        expect(yours).toStrictEqual(full());
      });
    });

    describe('concurrent calls', () => {
      it('store 50 keys', async () => {
        const all = numbers(50).map((n) => aKey(n));

        await Promise.all(all.map(async (key) => keys.insert(key)));

        expect(await keys.list()).toStrictEqual(all);
      });

      it('store a key once, however often it is inserted', async () => {
        await Promise.all(numbers(50).map(async () => keys.insert(full())));

        expect(await keys.list()).toStrictEqual([full()]);
      });

      it('store one of several keys with the same id, and reject the others', async () => {
        const rivals = numbers(20).map((n) => ({ ...aKey(n), id: aKey(1).id }));

        const outcomes = await Promise.allSettled(rivals.map(async (key) => keys.insert(key)));

        const winners = rivals.filter((_, index) => outcomes[index]?.status === 'fulfilled');
        expect(await keys.list()).toStrictEqual(winners);
        expect(winners).toHaveLength(1);
        const refused = outcomes.flatMap((outcome) =>
          outcome.status === 'rejected' ? [outcome.reason] : [],
        );
        for (const error of refused) expect(error).toBeInstanceOf(ApiKeyIdTaken);
      });

      it('lose no change of any method', async () => {
        const all = numbers(20).map((n) => aKey(n));
        await insertAll(...all);

        await Promise.all(
          all.flatMap(({ id }) => [
            keys.recordUse(new Map([[id, at(10)]])),
            keys.revoke(id, at(30)),
            keys.expire(id, at(20)),
          ]),
        );

        expect(await keys.list()).toStrictEqual(
          all.map((key) => ({ ...key, lastUsedAt: at(10), expiresAt: at(20), revokedAt: at(30) })),
        );
      });

      it('keep the earliest end and the latest use, in any order', async () => {
        await insertAll(aKey(1));
        const shuffled = [5, 2, 8, 1, 9, 4, 7, 3, 6];

        await Promise.all(
          shuffled.flatMap((n) => [
            keys.revoke(aKey().id, at(n)),
            keys.expire(aKey().id, at(100 + n)),
            keys.recordUse(new Map([[aKey().id, at(n * USE_INTERVAL_MS)]])),
          ]),
        );

        expect(await keys.findById(aKey().id)).toStrictEqual(
          aKey(1, { revokedAt: at(1), expiresAt: at(101), lastUsedAt: at(9 * USE_INTERVAL_MS) }),
        );
      });
    });

    describeSecondRepository(lacks, () => {
      it('sees the changes of the first, and the first sees its changes', async () => {
        const next = await openSecond(store);
        await keys.insert(aKey(1));
        await next.insert(aKey(2));

        expect(await next.list()).toStrictEqual([aKey(1), aKey(2)]);
        expect(await keys.list()).toStrictEqual([aKey(1), aKey(2)]);

        const revoked = await next.revoke(aKey(1).id, at(30));
        expect(await keys.findById(aKey(1).id)).toStrictEqual(revoked);
        const shortened = await keys.expire(aKey(1).id, at(20));
        expect(shortened).toStrictEqual(aKey(1, { expiresAt: at(20), revokedAt: at(30) }));
        expect(await next.findById(aKey(1).id)).toStrictEqual(shortened);
      });

      it('enforces the same rules', async () => {
        const next = await openSecond(store);
        await keys.insert(aKey(1));
        await keys.revoke(aKey(1).id, at(30));

        await next.insert(aKey(1));
        await expect(next.insert({ ...aKey(1), digest: aKey(3).digest })).rejects.toThrow(ApiKeyIdTaken);
        await next.revoke(aKey(1).id, at(31));

        expect(await keys.list()).toStrictEqual([aKey(1, { revokedAt: at(30) })]);
      });

      it('compares a use with the one that the first has recorded', async () => {
        const next = await openSecond(store);
        await keys.insert(aKey(1));
        await keys.recordUse(new Map([[aKey().id, at(10)]]));

        await next.recordUse(new Map([[aKey().id, at(9 + USE_INTERVAL_MS)]]));
        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { lastUsedAt: at(10) }));

        await next.recordUse(new Map([[aKey().id, at(10 + USE_INTERVAL_MS)]]));
        expect(await keys.findById(aKey().id)).toStrictEqual(
          aKey(1, { lastUsedAt: at(10 + USE_INTERVAL_MS) }),
        );
      });

      it('works concurrently with the first', async () => {
        const next = await openSecond(store);
        const all = numbers(50).map((n) => aKey(n));

        await Promise.all(all.map(async (key, n) => (n % 2 === 0 ? keys : next).insert(key)));
        await Promise.all(
          all.flatMap(({ id }) => [
            next.revoke(id, at(30)),
            keys.recordUse(new Map([[id, at(10)]])),
            next.expire(id, at(20)),
            keys.expire(id, at(21)),
          ]),
        );

        expect(await keys.list()).toStrictEqual(
          all.map((key) => ({ ...key, lastUsedAt: at(10), expiresAt: at(20), revokedAt: at(30) })),
        );
      });
    });
  });
}

/** Changes everything in a key that is not frozen. */
function tamper(key: ApiKey | undefined): void {
  if (key === undefined) throw new Error('there is no key to change');
  for (const time of [key.createdAt, key.expiresAt, key.revokedAt, key.lastUsedAt]) time?.setTime(0);
  if (Array.isArray(key.scopes) && !Object.isFrozen(key.scopes)) key.scopes.length = 0;
  if (key.rateLimit !== undefined) Reflect.set(key.rateLimit, 'requests', 1);
  for (const field of ['id', 'digest', 'label']) Reflect.set(key, field, 'changed');
  for (const field of ['expiresAt', 'rateLimit', 'revokedAt', 'lastUsedAt'])
    Reflect.deleteProperty(key, field);
}
