import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';

const TIMEOUT_MS = 10_000;

type Server = { readonly address: string; readonly type: string; readonly setName: string | null };

/** The members of a replica set: `primary` is "ADDRESS TERM", and `others` are the types of the other members. */
const members = (primary: string, ...others: readonly string[]): Server[] => [
  { address: primary.split(' ')[0]!, type: 'RSPrimary', setName: 'rs', ...electedIn(primary) },
  ...others.map((type, n) => ({ address: `other-${n}`, type, setName: type === 'Unknown' ? null : 'rs' })),
];
const electedIn = (primary: string) => ({ electionId: { toHexString: () => primary.split(' ')[1] } });
const WHOLE = ['RSSecondary', 'RSSecondary'] as const;

/** Reports the members as the driver does, and keeps each confirmation until the test answers it. */
class DriverModel {
  readonly client = new EventEmitter();
  readonly confirmations: (PromiseWithResolvers<unknown> & { readonly args: unknown })[] = [];
  readonly reads = new ConfirmedReads(this as unknown as Db);
  #servers: readonly Server[] = [];
  #answered = 0;

  collection(): object {
    return {
      findOne: (...args: unknown[]) => {
        const confirmation = { ...Promise.withResolvers<unknown>(), args };
        this.confirmations.push(confirmation);
        return confirmation.promise;
      },
    };
  }

  sees(servers: readonly Server[]): void {
    const [previousDescription, newDescription] = [this.#servers, servers].map((all) => ({
      servers: new Map(all.map((server) => [server.address, server])),
    }));
    this.#servers = servers;
    this.client.emit('topologyDescriptionChanged', { previousDescription, newDescription });
  }

  async hasBegun(confirmations: number): Promise<void> {
    await vi.waitUntil(() => this.confirmations.length >= confirmations, { interval: 1, timeout: 10_000 });
  }

  /** The next confirmation succeeds, or fails with the error. */
  async confirm(error?: Error): Promise<void> {
    await this.hasBegun(this.#answered + 1);
    const { resolve, reject } = this.confirmations[this.#answered++]!;
    if (error === undefined) resolve(null);
    else reject(error);
  }
}

let driver: DriverModel;
beforeEach(() => {
  driver = new DriverModel();
  // Retries pause for a millisecond.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => void vi.restoreAllMocks());

const read = <T>(work: () => Promise<T>, isMiss?: (result: T) => boolean) =>
  driver.reads.read(TIMEOUT_MS, work, isMiss);

/** A primary that one read has confirmed. */
async function confirmed(): Promise<void> {
  const first = read(async () => 'first');
  await driver.confirm();
  await first;
}

it('ConfirmedReads confirms the primary with a linearizable read before the first read, and not again', async () => {
  const work = vi.fn<() => Promise<string>>(async () => 'pets');
  const reading = read(work);
  await turn();
  expect(work).not.toHaveBeenCalled();
  await driver.confirm();

  expect(await reading).toBe('pets');
  expect(await read(work)).toBe('pets');
  expect(driver.confirmations.map(({ args }) => args)).toStrictEqual([
    [
      { _id: 'petstore' },
      { readPreference: 'primary', readConcern: { level: 'linearizable' }, maxTimeMS: 2_000 },
    ],
  ]);
  expect(work).toHaveBeenCalledTimes(2);
});

it('ConfirmedReads confirms the primary after a miss, and reads again', async () => {
  await confirmed();
  const isMiss = (result: number) => result === 1;
  let reads = 0;
  const found = read(async () => ++reads, isMiss);
  await driver.confirm();
  expect(await found).toBe(2);

  // No miss.
  expect(await read(async () => ++reads, isMiss)).toBe(3);
  expect(driver.confirmations).toHaveLength(2);
});

it('ConfirmedReads does not read again after a miss if it confirmed the primary for this read', async () => {
  const work = vi.fn<() => Promise<void>>(async () => {});
  const missing = read(work, () => true);
  await driver.confirm();

  expect(await missing).toBeUndefined();
  expect(work).toHaveBeenCalledOnce();
  expect(driver.confirmations).toHaveLength(1);
});

it.each([
  ['another member becomes primary', 'a 1', 'b 2', 2],
  ['the same member becomes primary in another term', 'a 1', 'a 3', 2],
  ['the same member stays primary', 'a 1', 'a 1', 1],
])('ConfirmedReads confirms each primary once: %s', async (_, before, after, confirmations) => {
  driver.sees(members(before, ...WHOLE));
  await confirmed();
  driver.sees(members(after, ...WHOLE));

  const reading = read(async () => 'pets');
  if (confirmations === 2) await driver.confirm();
  expect(await reading).toBe('pets');
  expect(driver.confirmations).toHaveLength(confirmations);
});

it('ConfirmedReads does not confirm a primary again if the first topology event names the same primary', async () => {
  await confirmed();
  const [primary, ...others] = members('a 1', ...WHOLE);
  const before = { servers: new Map([[primary!.address, primary]]) };
  const after = { servers: new Map([primary!, ...others].map((server) => [server.address, server])) };
  driver.client.emit('topologyDescriptionChanged', { previousDescription: before, newDescription: after });

  expect(await read(async () => 'pets')).toBe('pets');
});

it('ConfirmedReads repeats a read if the primary changes during it, or during its confirmation', async () => {
  driver.sees(members('z 0', ...WHOLE));
  const results = ['stale', 'stale', 'pets'];
  const work = vi.fn<() => Promise<string | undefined>>(async () => {
    if (results.length === 2) driver.sees(members('b 2', ...WHOLE));
    return results.shift();
  });
  const reading = read(work);
  await driver.hasBegun(1);
  driver.sees(members('a 1', ...WHOLE));
  for (const _ of ['z', 'a', 'b']) await driver.confirm();

  expect(await reading).toBe('pets');
  expect(work).toHaveBeenCalledTimes(3);
});

it.each<readonly [string, readonly Server[], boolean]>([
  ['one of three', members('a 1', 'Unknown', 'Unknown'), true],
  ['one of three, and one that may be the primary', members('a 1', 'PossiblePrimary', 'Unknown'), true],
  ['two of three', members('a 1', 'RSSecondary', 'Unknown'), false],
  ['two of four', members('a 1', 'RSSecondary', 'Unknown', 'Unknown'), true],
  ['three of four', members('a 1', 'RSSecondary', 'RSSecondary', 'Unknown'), false],
])('ConfirmedReads confirms every read unless it sees a majority: %s', async (_, servers, isConfirmed) => {
  driver.sees(members('a 1', ...WHOLE));
  await confirmed();
  driver.sees(servers);

  for (const result of ['miss', 'second']) {
    const reading = read(
      async () => result,
      (found) => isConfirmed && found === 'miss',
    );
    if (isConfirmed) await driver.confirm();
    expect(await reading).toBe(result);
  }
  expect(driver.confirmations).toHaveLength(isConfirmed ? 3 : 1);
});
