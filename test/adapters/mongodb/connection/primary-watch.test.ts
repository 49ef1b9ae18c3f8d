import { EventEmitter } from 'node:events';
import type { Db } from 'mongodb';
import { expect, it, vi } from 'vitest';
import { ConfirmedReads } from '../../../../src/adapters/mongodb/confirmed-reads.ts';
import { Simulation } from '../../../../proof/simulation/simulation.ts';
import type { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { virtualTime } from '../../../../proof/simulation/virtual-time.ts';

type Server = {
  readonly address: string;
  readonly type: string;
  readonly error?: Error;
  readonly lastUpdateTime?: number;
};

const PRIMARY = 'RSPrimary';
const SECONDARY = 'RSSecondary';
/** The driver does not know the state of this member. */
const UNKNOWN = 'Unknown';
const A_LOST = 'MongoDB has no primary; members: a: Unknown, b: RSSecondary, c: RSSecondary';
const A_AND_B_LOST = A_LOST.replace('b: RSSecondary', 'b: Unknown');
const A_IS_BACK = 'MongoDB has a primary again: a';
const unavailable = (message: string) => expect.objectContaining({ name: 'StorageUnavailable', message });
const NO_PRIMARY = unavailable(A_LOST);

/**
 * A model of the driver, which reports the members a, b and c on a virtual clock. It records the outcomes of the calls
 * and the lines of the log.
 */
class DriverModel {
  readonly client = new EventEmitter();
  readonly simulation = new Simulation(new SeededRandom(1));
  readonly warnings: string[] = [];
  /** The outcome of each call, and how many milliseconds the call took. */
  readonly calls: Promise<{ ms: number; value?: string; reason?: unknown }>[] = [];
  readonly reads = new ConfirmedReads(this as unknown as Db, {
    warn: (line) => void this.warnings.push(line),
  });
  /** The answer of the primary to a linearizable read, which confirms that it is the primary. */
  confirm = async () => {};
  #servers: readonly Server[] = [{ address: 'a', type: PRIMARY }];
  #term = 0;

  collection(): object {
    return { findOne: () => this.confirm() };
  }

  /** Reports the members. A text is the type of a member. */
  reportMembers(...servers: readonly (string | Server)[]): void {
    const serversBefore = this.#servers;
    this.#servers = servers.map((server, n) =>
      typeof server === 'string' ? { address: 'abc'[n]!, type: server } : server,
    );
    const isElection = this.#servers.some(
      ({ type }, n) => type === PRIMARY && serversBefore[n]?.type !== PRIMARY,
    );
    if (isElection) this.#term++;
    const describe = (members: readonly Server[]) => ({
      servers: new Map(
        members.map((server) => [
          server.address,
          { ...server, electionId: { toHexString: () => `${this.#term}` } },
        ]),
      ),
    });
    const event = { previousDescription: describe(serversBefore), newDescription: describe(this.#servers) };
    this.client.emit('topologyDescriptionChanged', event);
  }

  beginCall(timeoutMs = 20_000, read = async () => 'pets'): void {
    this.calls.push(this.#outcome(timeoutMs, read));
  }

  async #outcome(timeoutMs: number, read: () => Promise<string>) {
    const beganMs = this.simulation.nowMs;
    const [outcome] = await Promise.allSettled([this.reads.read(timeoutMs, read)]);
    const ms = Math.round(this.simulation.nowMs - beganMs);
    return outcome.status === 'fulfilled' ? { ms, value: outcome.value } : { ms, reason: outcome.reason };
  }

  /** Runs the actions. The key of each action is its time in milliseconds. */
  async run(actions: Readonly<Record<number, () => unknown>>): Promise<void> {
    this.simulation.calm();
    using _ = virtualTime(this.simulation, () => 1);
    // A call must not read the clock in a loop instead of waiting. After 1e6 readings, all deadlines have passed.
    let readings = 0;
    Object.assign(performance, { now: () => (++readings < 1e6 ? this.simulation.nowMs : Infinity) });
    this.reportMembers(PRIMARY, SECONDARY, SECONDARY);
    for (const [ms, action] of Object.entries(actions)) {
      this.simulation.later(`at ${ms}`, Number(ms), () => void action());
    }
    await this.simulation.run();
  }
}

it('PrimaryWatch ends each call 20 s after the loss of the primary, and later calls after 500 ms, until there is a primary', async () => {
  const driver = new DriverModel();
  const unreachedRead = vi.fn<() => Promise<string>>();
  await driver.run({
    0: () => driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY),
    1: () => driver.beginCall(20_000, unreachedRead),
    4_000: () => driver.beginCall(),
    19_900: () => driver.beginCall(),
    25_000: () => driver.beginCall(),
    // The call of a probe.
    25_001: () => driver.beginCall(1_500),
    // The call of a command. Its deadline is longer than an election, so it may wait until this deadline.
    25_002: () => driver.beginCall(90_000),
    25_500: () => driver.beginCall(),
    // Two calls wait at this time, and are answered immediately.
    25_901: () => driver.reportMembers(UNKNOWN, PRIMARY, SECONDARY),
    26_000: () => driver.beginCall(),
  });

  const refused = (ms: number) => ({ ms, reason: NO_PRIMARY });
  const answered = (ms: number) => ({ ms, value: 'pets' });
  expect(await Promise.all(driver.calls)).toStrictEqual([
    refused(19_999),
    refused(16_000),
    refused(500),
    refused(500),
    refused(500),
    answered(899),
    answered(401),
    answered(0),
  ]);
  expect(unreachedRead).not.toHaveBeenCalled();
  expect(driver.warnings).toStrictEqual([A_LOST, 'MongoDB has a primary again: b']);
});

it('PrimaryWatch measures the time of a loss from the last answer of the primary, on the clock of the driver', async () => {
  const driver = new DriverModel();
  const lostServer = { address: 'a', type: UNKNOWN, lastUpdateTime: 72_500 };
  let beganMs = NaN;
  await driver.run({
    0: () => void (beganMs = performance.now()),
    100: () =>
      driver.reportMembers({ ...lostServer, type: PRIMARY, lastUpdateTime: 70_000 }, SECONDARY, SECONDARY),
    2_600: () => driver.reportMembers(lostServer, SECONDARY, SECONDARY),
    3_000: () => driver.beginCall(),
  });
  const { reason } = (await driver.calls[0]) as { readonly reason: StorageUnavailable };
  expect(Math.round(reason.sinceMs! - beganMs)).toBe(100);

  expect(await driver.calls[0]).toStrictEqual({ ms: 17_100, reason: NO_PRIMARY });
});

it('PrimaryWatch ends calls 20 s after the primary has lost its majority, or after the last read that confirmed the primary', async () => {
  const driver = new DriverModel();
  let hasNoMajority = true;
  driver.confirm = () => (hasNoMajority ? new Promise(() => {}) : Promise.resolve());
  await driver.run({
    0: () => driver.reportMembers(PRIMARY, UNKNOWN, UNKNOWN),
    19_500: () => driver.beginCall(),
    // The confirmation that began at 19.5 s was abandoned after 4 s, so the next call begins a new one.
    24_000: () => void (hasNoMajority = false),
    25_000: () => driver.beginCall(),
    26_000: () => void (hasNoMajority = true),
    43_000: () => driver.beginCall(),
  });

  const timedOut = (ms: number) => unavailable(`MongoDB did not complete the call within ${ms} ms`);
  expect(await Promise.all(driver.calls)).toStrictEqual([
    { ms: 500, reason: timedOut(500) },
    { ms: 0, value: 'pets' },
    { ms: 2_000, reason: timedOut(2_000) },
  ]);
  expect(driver.warnings).toStrictEqual([]);
});

it('PrimaryWatch treats a second outage like the first outage, and does not limit a slow call between the outages', async () => {
  const driver = new DriverModel();
  const lossDelaysMs: number[] = [];
  const lose = () => {
    const beganMs = performance.now();
    driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY);
    lossDelaysMs.push(driver.reads.watch.lostMs! - beganMs);
  };
  const outage = (ms: number) => ({
    [ms]: lose,
    [ms + 1]: () => driver.beginCall(),
    [ms + 10_000]: () => driver.reportMembers(UNKNOWN, UNKNOWN, SECONDARY),
    [ms + 25_000]: () => driver.beginCall(),
    [ms + 26_000]: () => driver.reportMembers(PRIMARY, SECONDARY, SECONDARY),
    [ms + 86_000]: () => driver.beginCall(20_000, () => new Promise(() => {})),
  });
  await driver.run({ ...outage(0), ...outage(200_000) });

  const slowCall = { ms: 20_000, reason: unavailable('MongoDB did not complete the call within 20000 ms') };
  const refused = (ms: number) => ({ ms, reason: unavailable(A_AND_B_LOST) });
  const outcomes = [refused(19_999), refused(500), slowCall];
  expect(await Promise.all(driver.calls)).toStrictEqual([...outcomes, ...outcomes]);
  expect(lossDelaysMs).toStrictEqual([0, 0]);
  expect(driver.warnings).toStrictEqual([A_LOST, A_AND_B_LOST, A_IS_BACK, A_LOST, A_AND_B_LOST, A_IS_BACK]);
});

it('PrimaryWatch logs the newest reason for a loss at most once per 10 s, and never logs a reason twice in a row', async () => {
  const driver = new DriverModel();
  const failBecause = (reason: string) => () => {
    driver.client.emit('serverHeartbeatFailed');
    driver.reportMembers({ address: 'a', type: UNKNOWN, error: new Error(reason) }, SECONDARY, SECONDARY);
  };
  const lines = (...reasons: readonly string[]) =>
    reasons.map((reason) => A_LOST.replace('a: Unknown', `a: ${reason}`));
  await driver.run({
    0: failBecause('interrupted'),
    1_000: failBecause('connect ECONNREFUSED'),
    5_000: failBecause('timed out after 2003ms'),
    // A heartbeat fails for the same reason as the heartbeat before, so the driver reports no change of the members.
    10_000: () => driver.client.emit('serverHeartbeatFailed'),
    15_000: failBecause('getaddrinfo EAI_AGAIN'),
    15_500: failBecause('timed out after 2001ms'),
    20_000: () => driver.client.emit('serverHeartbeatFailed'),
    60_000: failBecause('self-signed certificate'),
    61_000: () => driver.reportMembers(PRIMARY, SECONDARY, SECONDARY),
    90_000: () => driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY),
  });

  expect(driver.warnings).toStrictEqual([
    ...lines('interrupted', 'timed out', 'self-signed certificate'),
    A_IS_BACK,
    A_LOST,
  ]);
});

it.each<readonly [string, readonly (readonly (string | Server)[])[], readonly string[]]>([
  [
    'a loss once, even if other members change soon after the loss',
    [
      [UNKNOWN, SECONDARY, SECONDARY],
      [UNKNOWN, UNKNOWN, SECONDARY],
      [UNKNOWN, SECONDARY, SECONDARY],
    ],
    [A_LOST],
  ],
  [
    'a new primary, even if it logged no loss before',
    [[UNKNOWN, PRIMARY, SECONDARY]],
    ['MongoDB has a primary again: b'],
  ],
  [
    'the loss and the return of a standalone server',
    [['Standalone'], [UNKNOWN], ['Standalone']],
    ['MongoDB has no primary; members: a: Unknown', 'MongoDB has a primary again: a'],
  ],
  [
    'nothing when only other members than the primary change',
    [
      [PRIMARY, UNKNOWN, SECONDARY],
      [PRIMARY, SECONDARY, SECONDARY],
    ],
    [],
  ],
])('PrimaryWatch logs %s', (_, reports, warnings) => {
  const driver = new DriverModel();
  driver.reportMembers(
    ...(reports[0]![0] === 'Standalone' ? ['Standalone'] : [PRIMARY, SECONDARY, SECONDARY]),
  );
  for (const members of reports) driver.reportMembers(...members);

  expect(driver.warnings).toStrictEqual(warnings);
});

it('PrimaryWatch stops a wait for a primary when the client is closed, so that the closed client rejects the call', async () => {
  const driver = new DriverModel();
  await driver.run({
    0: () => driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY),
    1: () => driver.beginCall(20_000, () => Promise.reject(new TypeError('closed'))),
    100: () => driver.client.emit('topologyClosed'),
  });

  expect(await driver.calls[0]).toStrictEqual({ ms: 500, reason: new TypeError('closed') });
});
