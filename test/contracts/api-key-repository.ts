import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiKeyIdTaken } from '../../src/application/keys/errors.ts';
import { undamaged } from '../../src/application/keys/key-from-storage.ts';
import { type ApiKeyRepository, USE_INTERVAL_MS } from '../../src/application/ports/api-key-repository.ts';
import {
  type ApiKey,
  KEY_LABEL_MAX_LENGTH,
  RATE_LIMIT_MAX_REQUESTS,
  RATE_LIMIT_MAX_SECONDS,
} from '../../src/domain/api-key.ts';
import type { Lacks } from './pet-repository.ts';

export type ApiKeyStore = {
  readonly keys: ApiKeyRepository;
  /** A further repository on the same store, such as the command line has beside the service. */
  another?(): Promise<ApiKeyRepository>;
  close?(): Promise<void>;
};

type Fields = Partial<ApiKey>;

/** A key to be stored, of this number: what a test does not care about is filled in. */
export function aKey(n = 1, fields: Fields = {}): ApiKey {
  return {
    id: n.toString(16).padStart(16, '0'),
    digest: hash('sha256', `key ${n}`),
    label: `key ${n}`,
    scopes: ['pets:read'],
    createdAt: at(n),
    ...fields,
  };
}

const OPTIONAL = ['expiresAt', 'rateLimit', 'revokedAt', 'lastUsedAt'] as const;
type Optional = (typeof OPTIONAL)[number];

/** A key with everything that may be absent, but for one thing. Made anew each time, because a Date can be changed. */
function full(n = 1, but?: Optional): ApiKey {
  const key: { -readonly [K in keyof ApiKey]: ApiKey[K] } = aKey(n, {
    scopes: ['pets:read', 'pets:write'],
    expiresAt: at(86_400_001),
    rateLimit: { requests: 600, seconds: 60 },
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
  ['another', 'constructor'],
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
 * What every {@link ApiKeyRepository} must do.
 *
 * @param open opens an empty store of its own for each test
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

    /** Keys in the store. */
    async function stored(...all: readonly ApiKey[]): Promise<void> {
      for (const key of all) await keys.insert(key);
    }

    describe('round trip', () => {
      const only = (field: Optional): Fields => ({ [field]: full()[field] });

      it.each<readonly [string, Fields]>([
        ['nothing that may be absent', {}],
        ['everything', full()],
        ...OPTIONAL.map((field) => [`${field} alone`, only(field)] as const),
        ...OPTIONAL.map((field) => [`everything but ${field}`, full(1, field)] as const),
        ['scopes: one', { scopes: ['pets:write'] }],
        ['scopes: in the order that they have', { scopes: ['pets:write', 'pets:read'] }],
        ['the least rate limit', { rateLimit: { requests: 1, seconds: 1 } }],
        [
          'the greatest rate limit',
          { rateLimit: { requests: RATE_LIMIT_MAX_REQUESTS, seconds: RATE_LIMIT_MAX_SECONDS } },
        ],
        ['the least digest', { digest: '0'.repeat(64) }],
        ['the greatest digest', { digest: 'f'.repeat(64) }],
        ['the greatest id', { id: 'f'.repeat(16) }],
        ['an id of digits alone', { id: '1234567890123456' }],
        // With an exponent, so that whoever takes it for a number changes it.
        ['an id like a number', { id: '00000000000012e3' }],
      ])('keeps a key with %s', async (_, fields) => {
        const key = aKey(1, fields);

        expect(await keys.insert(key)).toBeUndefined();

        expect(await keys.findById(key.id)).toStrictEqual(aKey(1, fields));
        expect(await keys.list()).toStrictEqual([aKey(1, fields)]);
      });

      it.each([
        ['the beginning', 0],
        ['a millisecond after it', 1],
        ['a millisecond before it', -1],
        ['beyond int32 seconds', 2 ** 31 * 1000 + 1],
        ['the last millisecond of a second', 1_797_000_000_999],
        ['the last instant', LAST_INSTANT],
        ['the first instant', -LAST_INSTANT],
      ])('keeps times to the millisecond: %s', async (_, ms) => {
        const time = () => new Date(ms);
        const key = () =>
          aKey(1, { createdAt: time(), expiresAt: time(), revokedAt: time(), lastUsedAt: time() });

        await keys.insert(key());

        expect(await keys.findById(key().id)).toStrictEqual(key());
        expect(await keys.list()).toStrictEqual([key()]);
      });

      it.each([
        ['a composed letter', 'Ren\u00e9'],
        ['the same, decomposed', 'Rene\u0301'],
        ['a compatibility character', '\ufb01do'],
        ['astral characters', '\u{1f415}\u{1d518}\u{20bb7}'],
        ['right to left', '\u05db\u05dc\u05d1'],
        ['inner spaces', 'a  b'],
        ['query syntax', '$where.{"$gt":""}\'; DROP TABLE api_keys; --'],
        ['a word of JavaScript', '__proto__'],
        ['a number', '007'],
        ['the longest in bytes', '\u{1f415}'.repeat(KEY_LABEL_MAX_LENGTH)],
      ])('keeps a label verbatim: %s', async (_, label) => {
        await keys.insert(aKey(1, { label }));

        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { label }));
        expect(await keys.list()).toStrictEqual([aKey(1, { label })]);
      });

      it('keeps two keys that are the same but for their ids and digests', async () => {
        const twin = aKey(2, { label: 'key 1', createdAt: at(1) });
        await stored(aKey(1), twin);

        expect(await keys.list()).toStrictEqual([aKey(1), twin]);
      });

      it('stores the fields of a key and no others, such as the key itself', async () => {
        const odd = { ...full(), token: 'secret', _id: 'odd' };

        await keys.insert(odd);
        await keys.revoke(odd.id, at(1));

        const expected = { ...full(), revokedAt: at(1) };
        expect(await keys.findById(odd.id)).toStrictEqual(expected);
        expect(await keys.list()).toStrictEqual([expected]);
      });
    });

    describe('insert', () => {
      it('leaves a key as it is that is there with the same digest', async () => {
        await stored(aKey(1), aKey(2));

        expect(await keys.insert({ ...full(), label: 'changed', createdAt: at(9) })).toBeUndefined();

        expect(await keys.list()).toStrictEqual([aKey(1), aKey(2)]);
      });

      it('leaves a key as it is that has been used, shortened and revoked meanwhile', async () => {
        await stored(aKey(1));
        await keys.recordUse(new Map([[aKey().id, at(50)]]));
        await keys.expire(aKey().id, at(60));
        await keys.revoke(aKey().id, at(70));

        await keys.insert(aKey(1));

        expect(await keys.list()).toStrictEqual([
          aKey(1, { lastUsedAt: at(50), expiresAt: at(60), revokedAt: at(70) }),
        ]);
      });

      it('rejects another key under the id, and changes nothing', async () => {
        await stored(full(), aKey(2));
        const another = { ...aKey(1), digest: aKey(3).digest };

        for (let again = 0; again < 2; again++) {
          const inserting = keys.insert(another);
          await expect(inserting).rejects.toThrow(ApiKeyIdTaken);
          await expect(inserting).rejects.toMatchObject({ kind: 'api-key-id-taken', id: aKey().id });
        }

        expect(await keys.list()).toStrictEqual([full(), aKey(2)]);
        expect(await keys.findById(aKey().id)).toStrictEqual(full());
      });

      it('rejects another key under the id of one that is revoked', async () => {
        await stored(aKey(1, { revokedAt: at(1) }));

        await expect(keys.insert({ ...aKey(1), digest: aKey(3).digest })).rejects.toThrow(ApiKeyIdTaken);
        expect(await keys.list()).toStrictEqual([aKey(1, { revokedAt: at(1) })]);
      });
    });

    describe('an id that there is not', () => {
      it.each([['of another key', aKey(2).id] as const, ...HOSTILE_IDS])(
        'finds and changes nothing: %s',
        async (_, id) => {
          await stored(full());

          expect(await keys.findById(id)).toBeUndefined();
          expect(await keys.revoke(id, at(1))).toBeUndefined();
          expect(await keys.expire(id, at(1))).toBeUndefined();
          expect(await keys.recordUse(new Map([[id, at(LAST_INSTANT / 2)]]))).toBeUndefined();

          expect(await keys.list()).toStrictEqual([full()]);
        },
      );

      it('is every one in an empty store', async () => {
        expect(await keys.findById(aKey().id)).toBeUndefined();
        expect(await keys.revoke(aKey().id, at(1))).toBeUndefined();
        expect(await keys.expire(aKey().id, at(1))).toBeUndefined();
        expect(await keys.list()).toStrictEqual([]);
      });
    });

    describe('findById', () => {
      it('finds each key under its own id, whatever its state', async () => {
        const all = [aKey(1), aKey(2, { revokedAt: at(0) }), aKey(3, { expiresAt: at(0) }), full(4)];
        await stored(...all);

        for (const key of all) expect(await keys.findById(key.id)).toStrictEqual(key);
      });
    });

    describe('list', () => {
      it('is in the order of creation, and of the id where that is the same', async () => {
        const created = (n: number, ms: number) => aKey(n, { createdAt: new Date(ms) });
        // Neither the order of insertion, nor that of the ids, nor that of the digits of the times.
        const inOrder = [
          created(9, -1),
          created(3, 0),
          created(2, 9),
          created(8, 10),
          created(1, 999_999_999_999),
          created(4, 1_000_000_000_000),
          created(5, 1_000_000_000_000),
          created(10, 1_000_000_000_000),
          created(6, 1_000_000_000_001),
        ];
        await stored(...[5, 0, 7, 2, 8, 4, 6, 1, 3].map((index) => inOrder[index]!));

        expect(await keys.list()).toStrictEqual(inOrder);
      });

      it('holds every key, whatever its state', async () => {
        const all = numbers(250).map((n) =>
          n % 4 === 0 ? full(n) : aKey(n, [{}, { revokedAt: at(1) }, { expiresAt: at(1) }][n % 3]),
        );
        await stored(...all);

        expect(await keys.list()).toStrictEqual(all);
      });
    });

    describe('revoke', () => {
      it.each([
        ['with nothing else', () => aKey()],
        ['with everything else', () => full(1, 'revokedAt')],
      ])('ends a key and changes nothing else: %s', async (_, make) => {
        const before = make();
        await stored(before, aKey(2));

        const revoked = await keys.revoke(before.id, at(7_001));

        expect(revoked).toStrictEqual({ ...before, revokedAt: at(7_001) });
        expect(await keys.findById(before.id)).toStrictEqual(revoked);
        expect(await keys.list()).toStrictEqual([revoked, aKey(2)]);
      });

      it('leaves a key as it is that was revoked before', async () => {
        await stored(aKey(1));
        const first = await keys.revoke(aKey().id, at(7_001));

        for (const ms of [7_001, 7_002, LAST_INSTANT / 2]) {
          expect(await keys.revoke(aKey().id, at(ms))).toStrictEqual(first);
        }
        expect(await keys.findById(aKey().id)).toStrictEqual(first);
      });

      it('keeps the earlier instant when that comes later', async () => {
        await stored(aKey(1, { revokedAt: at(7_001) }));

        expect(await keys.revoke(aKey().id, at(7_000))).toStrictEqual(aKey(1, { revokedAt: at(7_000) }));
        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { revokedAt: at(7_000) }));
      });
    });

    describe('expire', () => {
      it.each([
        ['with nothing else', () => aKey()],
        ['with everything else', () => full(1, 'expiresAt')],
      ])('sets the instant of a key that has none and changes nothing else: %s', async (_, make) => {
        const before = make();
        await stored(before, aKey(2));

        const shortened = await keys.expire(before.id, at(7_001));

        expect(shortened).toStrictEqual({ ...before, expiresAt: at(7_001) });
        expect(await keys.findById(before.id)).toStrictEqual(shortened);
        expect(await keys.list()).toStrictEqual([shortened, aKey(2)]);
      });

      it.each([
        ['earlier', 6_999, 6_999],
        ['the same', 7_000, 7_000],
        ['later', 7_001, 7_000],
        ['much later', LAST_INSTANT / 2, 7_000],
        ['in the past', -7_000, -7_000],
      ])('only ever shortens: %s', async (_, ms, expected) => {
        await stored(aKey(1, { expiresAt: at(7_000) }));

        const shortened = await keys.expire(aKey().id, at(ms));

        expect(shortened).toStrictEqual(aKey(1, { expiresAt: at(expected) }));
        expect(await keys.findById(aKey().id)).toStrictEqual(shortened);
      });
    });

    describe('recordUse', () => {
      it.each([
        ['with nothing else', () => aKey()],
        ['with everything else', () => full(1, 'lastUsedAt')],
      ])('notes the first use and changes nothing else: %s', async (_, make) => {
        const before = make();
        await stored(before, aKey(2));

        expect(await keys.recordUse(new Map([[before.id, at(7_001)]]))).toBeUndefined();

        const used = { ...before, lastUsedAt: at(7_001) };
        expect(await keys.findById(before.id)).toStrictEqual(used);
        expect(await keys.list()).toStrictEqual([used, aKey(2)]);
      });

      it.each([
        ['a millisecond too early', USE_INTERVAL_MS - 1, 0],
        ['just late enough', USE_INTERVAL_MS, USE_INTERVAL_MS],
        ['later', USE_INTERVAL_MS + 1, USE_INTERVAL_MS + 1],
        ['much later', LAST_INSTANT / 2, LAST_INSTANT / 2],
        ['the same', 0, 0],
        ['just before', -1, 0],
        ['long before', -10 * USE_INTERVAL_MS, 0],
      ])('notes another use only when it is late enough: %s', async (_, ms, expected) => {
        await stored(aKey(1));
        await keys.recordUse(new Map([[aKey().id, at(0)]]));

        await keys.recordUse(new Map([[aKey().id, at(ms)]]));

        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { lastUsedAt: at(expected) }));
      });

      it('notes several keys at once, each by its own measure, and passes over those that there are not', async () => {
        const before = [aKey(1), aKey(2, { lastUsedAt: at(1) }), aKey(3, { lastUsedAt: at(2) }), full(4)];
        await stored(...before);

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

      it('does nothing for no uses', async () => {
        await stored(aKey(1), full(2));

        expect(await keys.recordUse(new Map())).toBeUndefined();

        expect(await keys.list()).toStrictEqual([aKey(1), full(2)]);
      });

      it('notes thousands of keys at once', async () => {
        const all = numbers(2_000).map((n) => aKey(n));
        await Promise.all(all.map(async (key) => keys.insert(key)));

        await keys.recordUse(new Map(all.map(({ id }, n) => [id, at(n)])));

        expect(await keys.list()).toStrictEqual(all.map((key, n) => ({ ...key, lastUsedAt: at(n) })));
      });
    });

    describe('data isolation', () => {
      it('keeps what was passed to insert, though the caller changes it during and after the call', async () => {
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

      it('keeps instants that were passed, though the caller changes them during and after the call', async () => {
        await stored(aKey(1));
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

      it('keeps what it has, though the caller changes what was returned', async () => {
        await stored(full(), aKey(2));

        tamper(await keys.findById(aKey(1).id));
        tamper(await keys.revoke(aKey(1).id, at(5_003)));
        tamper(await keys.expire(aKey(1).id, at(86_400_001)));
        const list = await keys.list();
        for (const key of list) tamper(undamaged(key));
        if (Array.isArray(list) && !Object.isFrozen(list)) list.length = 0;

        expect(await keys.list()).toStrictEqual([full(), aKey(2)]);
        expect(await keys.findById(aKey(1).id)).toStrictEqual(full());
      });

      it('returns nothing that two callers share', async () => {
        await stored(full());

        tamper(await keys.findById(aKey().id));
        const [mine, yours] = await Promise.all([keys.findById(aKey().id), keys.findById(aKey().id)]);
        tamper(mine);

        expect(yours).toStrictEqual(full());
      });
    });

    describe('at once', () => {
      it('stores 50 keys', async () => {
        const all = numbers(50).map((n) => aKey(n));

        await Promise.all(all.map(async (key) => keys.insert(key)));

        expect(await keys.list()).toStrictEqual(all);
      });

      it('stores a key once, however often it is inserted', async () => {
        await Promise.all(numbers(50).map(async () => keys.insert(full())));

        expect(await keys.list()).toStrictEqual([full()]);
      });

      it('stores one of several keys under one id, and tells it to the right caller', async () => {
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

      it('keeps what every method does', async () => {
        const all = numbers(20).map((n) => aKey(n));
        await stored(...all);

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

      it('keeps the earliest end and the latest use, in whatever order they come', async () => {
        await stored(aKey(1));
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

    const noOther = lacks.another === undefined ? '' : ` (left out: ${lacks.another})`;
    describe.skipIf(lacks.another !== undefined)(`a second repository on the same store${noOther}`, () => {
      it('sees what the first does, and the first what it does', async () => {
        const next = await other(store);
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

      it('has the rules of the first', async () => {
        const next = await other(store);
        await keys.insert(aKey(1));
        await keys.revoke(aKey(1).id, at(30));

        await next.insert(aKey(1));
        await expect(next.insert({ ...aKey(1), digest: aKey(3).digest })).rejects.toThrow(ApiKeyIdTaken);
        await next.revoke(aKey(1).id, at(31));

        expect(await keys.list()).toStrictEqual([aKey(1, { revokedAt: at(30) })]);
      });

      it('notes a use by the time that the first has noted', async () => {
        const next = await other(store);
        await keys.insert(aKey(1));
        await keys.recordUse(new Map([[aKey().id, at(10)]]));

        await next.recordUse(new Map([[aKey().id, at(9 + USE_INTERVAL_MS)]]));
        expect(await keys.findById(aKey().id)).toStrictEqual(aKey(1, { lastUsedAt: at(10) }));

        await next.recordUse(new Map([[aKey().id, at(10 + USE_INTERVAL_MS)]]));
        expect(await keys.findById(aKey().id)).toStrictEqual(
          aKey(1, { lastUsedAt: at(10 + USE_INTERVAL_MS) }),
        );
      });

      it('works at the same time', async () => {
        const next = await other(store);
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

async function other(store: ApiKeyStore): Promise<ApiKeyRepository> {
  if (store.another === undefined)
    throw new Error('the store must open a second repository, or declare why not');
  return store.another();
}

/** An instant some milliseconds after a certain one. A new object each time, because a Date can be changed. */
function at(ms: number): Date {
  return new Date(1_797_000_000_000 + ms);
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index);
}

/** Changes a key with all that is in it, where it lets itself be changed: a frozen one is as good. */
function tamper(key: ApiKey | undefined): void {
  if (key === undefined) throw new Error('there is no key to change');
  for (const time of [key.createdAt, key.expiresAt, key.revokedAt, key.lastUsedAt]) time?.setTime(0);
  if (Array.isArray(key.scopes) && !Object.isFrozen(key.scopes)) key.scopes.length = 0;
  if (key.rateLimit !== undefined) Reflect.set(key.rateLimit, 'requests', 1);
  for (const field of ['id', 'digest', 'label']) Reflect.set(key, field, 'changed');
  for (const field of ['expiresAt', 'rateLimit', 'revokedAt', 'lastUsedAt'])
    Reflect.deleteProperty(key, field);
}
