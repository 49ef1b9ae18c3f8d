import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ApiKeyIdTaken } from '../../src/application/keys/errors.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import { SCOPES, USE_INTERVAL_MS, apiKeyProblems, type ApiKey } from '../../src/domain/api-key.ts';
import { RATE_LIMIT_MAX } from '../../src/domain/rate-limit.ts';
import { text } from '../../proof/properties/arbitraries.ts';
import { holds } from '../../proof/properties/holds.ts';
import { aKey, at } from '../support/api-keys.ts';
import { command, OpenedStore, processCommands } from './model.ts';
import type { Keys, TestedStorage } from './storages.ts';

type KeyMap = Map<string, ApiKey>;
type Real = OpenedStore<Keys>;
const keyCommand = command<KeyMap, Real>;

// Many of the times differ by about `USE_INTERVAL_MS`. A use soon after a recorded use is not recorded.
const instantMs = fc.oneof(
  fc
    .tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -1, max: 1 }))
    .map(([n, ms]) => n * USE_INTERVAL_MS + ms),
  fc.integer({ min: -(10 ** 15), max: 10 ** 15 }),
);

/** The id of one of eight keys, or a random text. */
const id = fc.oneof({ weight: 6, arbitrary: fc.nat(7).map((n) => aKey(n).id) }, text);
/** A number from which `OpenedStore.pick` chooses the process that makes the call. */
const caller = fc.nat(3);

/** A random label. `Rex` replaces a text that is no valid label. */
const label = fc
  .oneof(text, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }))
  .map((any) => (apiKeyProblems(aKey(1, { label: any })).length === 0 ? any : 'Rex'));
const date = instantMs.map(at);
// `toStrictEqual` also compares prototypes, so the random objects need the usual prototype.
const withPrototype = { noNullPrototype: true } as const;
const rateLimit = fc.record(
  {
    requests: fc.integer({ min: 1, max: RATE_LIMIT_MAX.requests }),
    seconds: fc.integer({ min: 1, max: RATE_LIMIT_MAX.seconds }),
  },
  withPrototype,
);
const originId = fc.constant(aKey(9).id);
const scopes = fc.subarray([...SCOPES], { minLength: 1 });
const fields = fc.record(
  { label, scopes, createdAt: date, rateLimit, originId, expiresAt: date, revokedAt: date, lastUsedAt: date },
  { ...withPrototype, requiredKeys: ['label', 'scopes', 'createdAt'] },
);
// Keys with the same id can have different digests. A repository must reject the second of these keys.
const key = fc
  .tuple(fc.nat(7), fc.constantFrom('one', 'one', 'other'), fields)
  .map(([n, secret, some]) => aKey(n, { ...some, digest: hash('sha256', secret) }));

const insert = fc.tuple(caller, key).map(([by, added]) =>
  keyCommand(`insert(${fc.stringify(added)}) by ${by}`, async (model, real) => {
    const storedKey = model.get(added.id);
    const inserting = real.pick(by).keys.insert(structuredClone(added));
    if (storedKey !== undefined && storedKey.digest !== added.digest) {
      await expect(inserting).rejects.toStrictEqual(new ApiKeyIdTaken(added.id));
    } else {
      expect(await inserting).toBeUndefined();
      if (storedKey === undefined) model.set(added.id, added);
    }
  }),
);

const find = fc.tuple(caller, id).map(([by, wanted]) =>
  keyCommand(`findById(${fc.stringify(wanted)}) by ${by}`, async (model, real) => {
    expect(await real.pick(by).keys.findById(wanted)).toStrictEqual(model.get(wanted));
  }),
);

const list = caller.map((by) =>
  keyCommand(`list by ${by}`, async (model, real) => {
    expect(await real.pick(by).keys.list()).toStrictEqual(
      [...model.values()].toSorted(
        (a, b) => Number(a.createdAt) - Number(b.createdAt) || (a.id < b.id ? -1 : 1),
      ),
    );
  }),
);

const revokeOrExpire = fc
  .record({ by: caller, method: fc.constantFrom('revoke', 'expire'), wanted: id, ms: instantMs })
  .map(({ by, method, wanted, ms }) =>
    keyCommand(`${method}(${fc.stringify(wanted)}, ${ms}) by ${by}`, async (model, real) => {
      const field = method === 'revoke' ? 'revokedAt' : 'expiresAt';
      const storedKey = model.get(wanted);
      const earlierTime = storedKey?.[field];
      const endedKey = storedKey && {
        ...storedKey,
        [field]: earlierTime !== undefined && earlierTime < at(ms) ? earlierTime : at(ms),
      };
      if (endedKey !== undefined) model.set(wanted, endedKey);
      expect(await real.pick(by).keys[method](wanted, at(ms))).toStrictEqual(endedKey);
    }),
  );

const recordUse = fc.tuple(caller, fc.array(fc.tuple(id, instantMs), { maxLength: 5 })).map(([by, uses]) =>
  keyCommand(`recordUse(${fc.stringify(uses)}) by ${by}`, async (model, real) => {
    const timesById = new Map(uses.map(([used, ms]) => [used, at(ms)]));
    for (const [used, time] of timesById) {
      const storedKey = model.get(used);
      const isDue = Number(time) - Number(storedKey?.lastUsedAt ?? -Infinity) >= USE_INTERVAL_MS;
      if (storedKey !== undefined && isDue) model.set(used, { ...storedKey, lastUsedAt: time });
    }
    expect(await real.pick(by).keys.recordUse(timesById)).toBeUndefined();
  }),
);

/** The random commands for each method of the port. The compiler reports a method of the port that has no entry. */
const COMMANDS: Readonly<
  Record<keyof ApiKeyRepository, readonly fc.Arbitrary<fc.AsyncCommand<KeyMap, Real>>[]>
> = {
  insert: [insert, insert],
  findById: [find],
  list: [list],
  revoke: [revokeOrExpire],
  expire: [revokeOrExpire],
  recordUse: [recordUse],
};

/** Makes random calls of `ApiKeyRepository`, and compares each result with the content of a map. */
export function apiKeyRepositoryModel({ create, runs, keyHolders }: TestedStorage): void {
  it('returns what a map of the stored keys returns, for random sequences of calls', async () => {
    const commands = [...Object.values(COMMANDS).flat(), ...processCommands<KeyMap, Real>(keyHolders)];
    await holds(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (calls) => {
        const { openKeys } = await create();
        await using real = await OpenedStore.on({ open: openKeys });
        await fc.asyncModelRun(() => ({ model: new Map(), real }), calls);
      }),
      runs,
    );
  });
}
