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
import { command, Opened, processCommands } from './model.ts';
import type { Keys as Port, TestedStorage } from './storages.ts';

type Keys = Map<string, ApiKey>;
type Real = Opened<Port>;
const keyCommand = command<Keys, Real>;

// Many of the times are close to each other, so that the interval between two recorded uses matters.
const instant = fc.oneof(
  fc
    .tuple(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -1, max: 1 }))
    .map(([n, ms]) => n * USE_INTERVAL_MS + ms),
  fc.integer({ min: -(10 ** 15), max: 10 ** 15 }),
);

/** The id of one of eight keys, or a random text. */
const id = fc.oneof({ weight: 6, arbitrary: fc.nat(7).map((n) => aKey(n).id) }, text);
/** Chooses the process that makes the call. */
const caller = fc.nat(3);

const label = fc
  .oneof(text, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }))
  .map((any) => (apiKeyProblems(aKey(1, { label: any })).length === 0 ? any : 'Rex'));
const date = instant.map(at);
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
const key = fc
  .tuple(fc.nat(7), fc.constantFrom('one', 'one', 'other'), fields)
  .map(([n, secret, some]) => aKey(n, { ...some, digest: hash('sha256', secret) }));

const insert = fc.tuple(caller, key).map(([by, added]) =>
  keyCommand(`insert(${fc.stringify(added)}) by ${by}`, async (keys, real) => {
    const known = keys.get(added.id);
    const inserting = real.pick(by).keys.insert(structuredClone(added));
    if (known !== undefined && known.digest !== added.digest) {
      await expect(inserting).rejects.toStrictEqual(new ApiKeyIdTaken(added.id));
    } else {
      expect(await inserting).toBeUndefined();
      if (known === undefined) keys.set(added.id, added);
    }
  }),
);

const find = fc.tuple(caller, id).map(([by, wanted]) =>
  keyCommand(`findById(${fc.stringify(wanted)}) by ${by}`, async (keys, real) => {
    expect(await real.pick(by).keys.findById(wanted)).toStrictEqual(keys.get(wanted));
  }),
);

const list = caller.map((by) =>
  keyCommand(`list by ${by}`, async (keys, real) => {
    expect(await real.pick(by).keys.list()).toStrictEqual(
      [...keys.values()].toSorted(
        (a, b) => Number(a.createdAt) - Number(b.createdAt) || (a.id < b.id ? -1 : 1),
      ),
    );
  }),
);

const end = fc
  .record({ by: caller, method: fc.constantFrom('revoke', 'expire'), wanted: id, ms: instant })
  .map(({ by, method, wanted, ms }) =>
    keyCommand(`${method}(${fc.stringify(wanted)}, ${ms}) by ${by}`, async (keys, real) => {
      const field = method === 'revoke' ? 'revokedAt' : 'expiresAt';
      const known = keys.get(wanted);
      const earlier = known?.[field];
      const ended = known && {
        ...known,
        [field]: earlier !== undefined && earlier < at(ms) ? earlier : at(ms),
      };
      if (ended !== undefined) keys.set(wanted, ended);
      expect(await real.pick(by).keys[method](wanted, at(ms))).toStrictEqual(ended);
    }),
  );

const recordUse = fc.tuple(caller, fc.array(fc.tuple(id, instant), { maxLength: 5 })).map(([by, uses]) =>
  keyCommand(`recordUse(${fc.stringify(uses)}) by ${by}`, async (keys, real) => {
    const latest = new Map(uses.map(([used, ms]) => [used, at(ms)]));
    for (const [used, time] of latest) {
      const known = keys.get(used);
      const isDue = Number(time) - Number(known?.lastUsedAt ?? -Infinity) >= USE_INTERVAL_MS;
      if (known !== undefined && isDue) keys.set(used, { ...known, lastUsedAt: time });
    }
    expect(await real.pick(by).keys.recordUse(latest)).toBeUndefined();
  }),
);

/** The commands, by the method that they call. A new method of the port does not compile until a command calls it. */
const COMMANDS: Readonly<
  Record<keyof ApiKeyRepository, readonly fc.Arbitrary<fc.AsyncCommand<Keys, Real>>[]>
> = {
  insert: [insert, insert],
  findById: [find],
  list: [list],
  revoke: [end],
  expire: [end],
  recordUse: [recordUse],
};

/** Makes random calls of `ApiKeyRepository`, and compares each result with a map. */
export function apiKeyRepositoryModel({ create, runs, keyHolders }: TestedStorage): void {
  it('returns the same results as a map, for random sequences of calls', async () => {
    const commands = [...Object.values(COMMANDS).flat(), ...processCommands<Keys, Real>(keyHolders)];
    await holds(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (calls) => {
        const { openKeys } = await create();
        await using real = await Opened.on({ open: openKeys });
        await fc.asyncModelRun(() => ({ model: new Map(), real }), calls);
      }),
      runs,
    );
  });
}
