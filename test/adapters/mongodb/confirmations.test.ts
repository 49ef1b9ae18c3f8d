import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';

const TIMEOUT_MS = 10_000;

type Server = { readonly address: string; readonly type: string; readonly setName: string | null };

/**
 * The members of a replica set. `primary` is "ADDRESS TERM": each election begins a new term, with a greater number.
 * `others` are the types of the other members.
 */
const members = (primary: string, ...others: readonly string[]): Server[] => [
  { address: primary.split(' ')[0]!, type: 'RSPrimary', setName: 'rs', ...electionOf(primary) },
  ...others.map((type, n) => ({ address: `other-${n}`, type, setName: type === 'Unknown' ? null : 'rs' })),
];
const electionOf = (primary: string) => ({ electionId: { toHexString: () => primary.split(' ')[1] } });
const TWO_SECONDARIES = ['RSSecondary', 'RSSecondary'] as const;

/**
 * A model of the driver. It reports the members as the driver does. A confirmation is a read that asks the primary
 * whether it is still the primary: the model keeps each confirmation until the test answers it.
 */
class DriverModel {
  readonly client = new EventEmitter();
  readonly confirmations: (PromiseWithResolvers<unknown> & { readonly args: unknown })[] = [];
  readonly reads = new ConfirmedReads(this as unknown as Db);
  #servers: readonly Server[] = [];
  #answeredCount = 0;

  collection(): object {
    return {
      findOne: (...args: unknown[]) => {
        const confirmation = { ...Promise.withResolvers<unknown>(), args };
        this.confirmations.push(confirmation);
        return confirmation.promise;
      },
    };
  }

  reportMembers(servers: readonly Server[]): void {
    const [previousDescription, newDescription] = [this.#servers, servers].map((all) => ({
      servers: new Map(all.map((server) => [server.address, server])),
    }));
    this.#servers = servers;
    this.client.emit('topologyDescriptionChanged', { previousDescription, newDescription });
  }

  async waitForConfirmations(count: number): Promise<void> {
    await vi.waitUntil(() => this.confirmations.length >= count, { interval: 1, timeout: 10_000 });
  }

  /** Answers the oldest open confirmation: with success, or with the error. */
  async answerConfirmation(error?: Error): Promise<void> {
    await this.waitForConfirmations(this.#answeredCount + 1);
    const { resolve, reject } = this.confirmations[this.#answeredCount++]!;
    if (error === undefined) resolve(null);
    else reject(error);
  }
}

let driver: DriverModel;
beforeEach(() => {
  driver = new DriverModel();
  // The pause before a retry is random. This value makes the pause as short as possible.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => void vi.restoreAllMocks());

const read = <T>(work: () => Promise<T>, isMiss?: (result: T) => boolean) =>
  driver.reads.read(TIMEOUT_MS, work, isMiss);

/** Makes a first read, and so confirms the primary. */
async function confirmPrimary(): Promise<void> {
  const first = read(async () => 'first');
  await driver.answerConfirmation();
  await first;
}

it('ConfirmedReads confirms the primary once, with a linearizable read before the first read', async () => {
  const work = vi.fn<() => Promise<string>>(async () => 'pets');
  const reading = read(work);
  await nextTurn();
  expect(work).not.toHaveBeenCalled();
  await driver.answerConfirmation();

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

it('ConfirmedReads confirms the primary and reads again after a miss, which is a read that found nothing', async () => {
  await confirmPrimary();
  const isMiss = (result: number) => result === 1;
  let readCount = 0;
  const result = read(async () => ++readCount, isMiss);
  await driver.answerConfirmation();
  expect(await result).toBe(2);

  // The result 3 is no miss, so this read is not confirmed.
  expect(await read(async () => ++readCount, isMiss)).toBe(3);
  expect(driver.confirmations).toHaveLength(2);
});

it('ConfirmedReads does not read again after a miss if it confirmed the primary right before this read', async () => {
  const work = vi.fn<() => Promise<void>>(async () => {});
  const missing = read(work, () => true);
  await driver.answerConfirmation();

  expect(await missing).toBeUndefined();
  expect(work).toHaveBeenCalledOnce();
  expect(driver.confirmations).toHaveLength(1);
});

it.each([
  ['confirms a different member that becomes primary', 'a 1', 'b 2', 2],
  ['confirms the same member if it becomes primary in a new term', 'a 1', 'a 3', 2],
  ['does not confirm a member again that stays primary', 'a 1', 'a 1', 1],
])('after a first confirmation, ConfirmedReads %s', async (_, primaryBefore, primaryAfter, confirmations) => {
  driver.reportMembers(members(primaryBefore, ...TWO_SECONDARIES));
  await confirmPrimary();
  driver.reportMembers(members(primaryAfter, ...TWO_SECONDARIES));

  const reading = read(async () => 'pets');
  if (confirmations === 2) await driver.answerConfirmation();
  expect(await reading).toBe('pets');
  expect(driver.confirmations).toHaveLength(confirmations);
});

it('ConfirmedReads does not confirm a primary again if the first topology event names the same primary', async () => {
  await confirmPrimary();
  const [primary, ...others] = members('a 1', ...TWO_SECONDARIES);
  const before = { servers: new Map([[primary!.address, primary]]) };
  const after = { servers: new Map([primary!, ...others].map((server) => [server.address, server])) };
  driver.client.emit('topologyDescriptionChanged', { previousDescription: before, newDescription: after });

  expect(await read(async () => 'pets')).toBe('pets');
});

it('ConfirmedReads repeats a read if the primary changes during the read or during the confirmation before the read', async () => {
  driver.reportMembers(members('z 0', ...TWO_SECONDARIES));
  const results = ['stale', 'stale', 'pets'];
  const work = vi.fn<() => Promise<string | undefined>>(async () => {
    if (results.length === 2) driver.reportMembers(members('b 2', ...TWO_SECONDARIES));
    return results.shift();
  });
  const reading = read(work);
  await driver.waitForConfirmations(1);
  driver.reportMembers(members('a 1', ...TWO_SECONDARIES));
  for (const _ of ['z', 'a', 'b']) await driver.answerConfirmation();

  expect(await reading).toBe('pets');
  expect(work).toHaveBeenCalledTimes(3);
});

it.each<readonly [string, readonly Server[], boolean]>([
  ['one member of three', members('a 1', 'Unknown', 'Unknown'), true],
  ['one member of three, and perhaps a second', members('a 1', 'PossiblePrimary', 'Unknown'), true],
  ['two members of three', members('a 1', 'RSSecondary', 'Unknown'), false],
  ['two members of four', members('a 1', 'RSSecondary', 'Unknown', 'Unknown'), true],
  ['three members of four', members('a 1', 'RSSecondary', 'RSSecondary', 'Unknown'), false],
])(
  'ConfirmedReads confirms every read exactly if the driver reaches no majority of the members: it reaches %s',
  async (_, servers, isConfirmed) => {
    driver.reportMembers(members('a 1', ...TWO_SECONDARIES));
    await confirmPrimary();
    driver.reportMembers(servers);

    for (const result of ['miss', 'second']) {
      const reading = read(
        async () => result,
        (readResult) => isConfirmed && readResult === 'miss',
      );
      if (isConfirmed) await driver.answerConfirmation();
      expect(await reading).toBe(result);
    }
    expect(driver.confirmations).toHaveLength(isConfirmed ? 3 : 1);
  },
);
