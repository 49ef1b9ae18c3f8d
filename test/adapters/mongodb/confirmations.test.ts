import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';

const TIMEOUT_MS = 10_000;

type Server = { readonly address: string; readonly type: string; readonly setName: string | null };

/**
 * The members of a replica set, as the driver reports them. `primary` has the form "ADDRESS TERM". A term is the time
 * from one election to the next. Each term has a number. `others` are the types of the other members: the driver cannot
 * reach a member of the type `Unknown`, and has not yet reached a member of the type `PossiblePrimary`.
 */
const members = (primary: string, ...others: readonly string[]): Server[] => [
  { address: primary.split(' ')[0]!, type: 'RSPrimary', setName: 'rs', ...electionFields(primary) },
  ...others.map((type, n) => ({ address: `other-${n}`, type, setName: type === 'Unknown' ? null : 'rs' })),
];
const electionFields = (primary: string) => ({ electionId: { toHexString: () => primary.split(' ')[1] } });
const TWO_SECONDARIES = ['RSSecondary', 'RSSecondary'] as const;

/**
 * A model of the driver. It reports the members as the driver does. A confirmation is a read that asks the primary
 * whether it is still the primary. A confirmation stays open until the test calls `answerConfirmation`.
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

  /** Answers the oldest open confirmation with success, or with the error if there is one. */
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
  // The pause before a retry is random. The random number 0 makes the pause as short as possible.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => void vi.restoreAllMocks());

/** Reads once. A miss is a result that means that the read found nothing. */
const read = <T>(work: () => Promise<T>, isMiss?: (result: T) => boolean) =>
  driver.reads.read(TIMEOUT_MS, work, isMiss);

/** Reads once, and answers the confirmation that ConfirmedReads sends before this read. */
async function confirmPrimary(): Promise<void> {
  const firstRead = read(async () => 'first');
  await driver.answerConfirmation();
  await firstRead;
}

it('ConfirmedReads confirms the primary once, with a linearizable read before the first other read', async () => {
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

it('after a miss (a read that found nothing), ConfirmedReads confirms the primary and reads again', async () => {
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

it('after a miss, ConfirmedReads does not read again if it confirmed the primary before this read', async () => {
  const work = vi.fn<() => Promise<void>>(async () => {});
  const missing = read(work, () => true);
  await driver.answerConfirmation();

  expect(await missing).toBeUndefined();
  expect(work).toHaveBeenCalledOnce();
  expect(driver.confirmations).toHaveLength(1);
});

it.each([
  ['confirms a different member that becomes primary', 'a 1', 'b 2', 2],
  ['confirms the same primary again after it wins a new election', 'a 1', 'a 3', 2],
  ['does not confirm the same primary again without an election', 'a 1', 'a 1', 1],
])('ConfirmedReads %s', async (_, primaryBefore, primaryAfter, confirmations) => {
  driver.reportMembers(members(primaryBefore, ...TWO_SECONDARIES));
  await confirmPrimary();
  driver.reportMembers(members(primaryAfter, ...TWO_SECONDARIES));

  const reading = read(async () => 'pets');
  if (confirmations === 2) await driver.answerConfirmation();
  expect(await reading).toBe('pets');
  expect(driver.confirmations).toHaveLength(confirmations);
});

it('ConfirmedReads does not confirm the primary again if the first event reports no election', async () => {
  await confirmPrimary();
  const servers = members('a 1', ...TWO_SECONDARIES);
  const previousDescription = { servers: new Map([[servers[0]!.address, servers[0]]]) };
  const newDescription = { servers: new Map(servers.map((server) => [server.address, server])) };
  driver.client.emit('topologyDescriptionChanged', { previousDescription, newDescription });

  expect(await read(async () => 'pets')).toBe('pets');
});

it('ConfirmedReads repeats a read if the primary changes during the read or its confirmation', async () => {
  driver.reportMembers(members('z 0', ...TWO_SECONDARIES));
  const results = ['stale', 'stale', 'pets'];
  const work = vi.fn<() => Promise<string | undefined>>(async () => {
    // During the second read, b becomes the primary.
    if (results.length === 2) driver.reportMembers(members('b 2', ...TWO_SECONDARIES));
    return results.shift();
  });
  const reading = read(work);
  await driver.waitForConfirmations(1);
  driver.reportMembers(members('a 1', ...TWO_SECONDARIES));
  // ConfirmedReads confirms z, then a, then b.
  for (const _ of ['z', 'a', 'b']) await driver.answerConfirmation();

  expect(await reading).toBe('pets');
  expect(work).toHaveBeenCalledTimes(3);
});

it.each<readonly [string, string, readonly Server[], boolean]>([
  ['every read', 'one member of three', members('a 1', 'Unknown', 'Unknown'), true],
  ['every read', 'one member, and not yet a second', members('a 1', 'PossiblePrimary', 'Unknown'), true],
  ['no read', 'two members of three', members('a 1', 'RSSecondary', 'Unknown'), false],
  ['every read', 'two members of four', members('a 1', 'RSSecondary', 'Unknown', 'Unknown'), true],
  ['no read', 'three members of four', members('a 1', 'RSSecondary', 'RSSecondary', 'Unknown'), false],
])('ConfirmedReads confirms %s while the driver reaches %s', async (_, _members, servers, isConfirmed) => {
  driver.reportMembers(members('a 1', ...TWO_SECONDARIES));
  await confirmPrimary();
  driver.reportMembers(servers);

  // A miss is not confirmed again, because the confirmation before its read is enough.
  for (const result of ['miss', 'second']) {
    const reading = read(
      async () => result,
      (readResult) => isConfirmed && readResult === 'miss',
    );
    if (isConfirmed) await driver.answerConfirmation();
    expect(await reading).toBe(result);
  }
  expect(driver.confirmations).toHaveLength(isConfirmed ? 3 : 1);
});
