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
  /** The time of the last answer, in milliseconds on the clock of the driver. */
  readonly lastUpdateTime?: number;
};

const PRIMARY = 'RSPrimary';
const SECONDARY = 'RSSecondary';
/** The type of a member that the driver cannot reach. */
const UNKNOWN = 'Unknown';
const HEALTHY_MEMBERS = [PRIMARY, SECONDARY, SECONDARY] as const;
/** Log lines. The lines about a loss are also the messages of errors. */
const A_LOST = 'MongoDB has no primary; members: a: Unknown, b: RSSecondary, c: RSSecondary';
const A_AND_B_LOST = A_LOST.replace('b: RSSecondary', 'b: Unknown');
const A_IS_BACK = 'MongoDB has a primary again: a';
const B_IS_PRIMARY = 'MongoDB has a primary again: b';
const unavailable = (message: string) => expect.objectContaining({ name: 'StorageUnavailable', message });
const NO_PRIMARY_ERROR = unavailable(A_LOST);

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
  /** Answers a linearizable read. The answer confirms that the member is still the primary. */
  confirm = async () => {};
  #servers: readonly Server[] = [{ address: 'a', type: PRIMARY }];
  #term = 0;

  collection(): object {
    return { findOne: () => this.confirm() };
  }

  /** Reports the members a, b and c to the client. A string is the type of the member. */
  reportMembers(...servers: readonly (string | Server)[]): void {
    const oldServers = this.#servers;
    this.#servers = servers.map((server, n) =>
      typeof server === 'string' ? { address: 'abc'[n]!, type: server } : server,
    );
    const isElection = this.#servers.some(({ type }, n) => type === PRIMARY && type !== oldServers[n]?.type);
    if (isElection) this.#term++;
    const describe = (members: readonly Server[]) => ({
      servers: new Map(
        members.map((server) => [
          server.address,
          { ...server, electionId: { toHexString: () => `${this.#term}` } },
        ]),
      ),
    });
    const event = { previousDescription: describe(oldServers), newDescription: describe(this.#servers) };
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

  /** Begins with three reachable members, and runs each action at its time. The keys are times in milliseconds. */
  async run(actions: Readonly<Record<number, () => unknown>>): Promise<void> {
    // After this call, the clock moves only to the time of the next timer.
    this.simulation.calm();
    using _ = virtualTime(this.simulation, () => 1);
    // A call that reads the clock in a loop would never end. After 1e6 readings the clock shows `Infinity`, so the
    // deadline of such a call passes.
    let readings = 0;
    Object.assign(performance, { now: () => (++readings < 1e6 ? this.simulation.nowMs : Infinity) });
    this.reportMembers(...HEALTHY_MEMBERS);
    for (const [ms, action] of Object.entries(actions)) {
      this.simulation.later(`at ${ms}`, Number(ms), () => void action());
    }
    await this.simulation.run();
  }
}

it('PrimaryWatch ends a call 20 s after the loss of the primary, but gives every call at least 500 ms', async () => {
  const driver = new DriverModel();
  const readWithoutPrimary = vi.fn<() => Promise<string>>();
  await driver.run({
    0: () => driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY),
    1: () => driver.beginCall(20_000, readWithoutPrimary),
    4_000: () => driver.beginCall(),
    19_900: () => driver.beginCall(),
    25_000: () => driver.beginCall(),
    // A call of the storage probe, whose own limit is 1.5 s.
    25_001: () => driver.beginCall(1_500),
    // A call of a command such as export. PrimaryWatch does not shorten a limit that is longer than 20 s.
    25_002: () => driver.beginCall(90_000),
    25_500: () => driver.beginCall(),
    // The calls that began at 25,002 ms and at 25,500 ms still wait. The new primary answers both immediately.
    25_901: () => driver.reportMembers(UNKNOWN, PRIMARY, SECONDARY),
    26_000: () => driver.beginCall(),
  });

  const refused = (ms: number) => ({ ms, reason: NO_PRIMARY_ERROR });
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
  expect(readWithoutPrimary).not.toHaveBeenCalled();
  expect(driver.warnings).toStrictEqual([A_LOST, B_IS_PRIMARY]);
});

it('PrimaryWatch dates a loss back to the last answer of the primary, whose time the driver reports', async () => {
  const driver = new DriverModel();
  const memberA = (type: string, lastUpdateTime: number) => ({ address: 'a', type, lastUpdateTime });
  let startMs = NaN;
  await driver.run({
    0: () => void (startMs = performance.now()),
    100: () => driver.reportMembers(memberA(PRIMARY, 70_000), SECONDARY, SECONDARY),
    // On the clock of the driver, the last answer was 2,500 ms ago. So the loss began at 100 ms.
    2_600: () => driver.reportMembers(memberA(UNKNOWN, 72_500), SECONDARY, SECONDARY),
    3_000: () => driver.beginCall(),
  });
  const { reason } = (await driver.calls[0]) as { readonly reason: StorageUnavailable };
  expect(Math.round(reason.sinceMs! - startMs)).toBe(100);

  // The call began at 3,000 ms, and ends at 20,100 ms: 20 s after the loss.
  expect(await driver.calls[0]).toStrictEqual({ ms: 17_100, reason: NO_PRIMARY_ERROR });
});

it('PrimaryWatch ends a call 20 s after the last proof that the primary had a majority of the members', async () => {
  const driver = new DriverModel();
  let hasNoMajority = true;
  driver.confirm = () => (hasNoMajority ? new Promise(() => {}) : Promise.resolve());
  await driver.run({
    0: () => driver.reportMembers(PRIMARY, UNKNOWN, UNKNOWN),
    19_500: () => driver.beginCall(),
    // The confirmation that began at 19.5 s was abandoned after 4 s, so the call at 25 s begins a new confirmation.
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

it('PrimaryWatch handles two outages in the same way, and does not shorten a slow call between them', async () => {
  const driver = new DriverModel();
  // For each outage: the time from the loss to the time that PrimaryWatch has recorded for the loss.
  const lossDelaysMs: number[] = [];
  const lose = () => {
    const beganMs = performance.now();
    driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY);
    lossDelaysMs.push(driver.reads.watch.lostMs! - beganMs);
  };
  const outageAt = (ms: number) => ({
    [ms]: lose,
    [ms + 1]: () => driver.beginCall(),
    [ms + 10_000]: () => driver.reportMembers(UNKNOWN, UNKNOWN, SECONDARY),
    [ms + 25_000]: () => driver.beginCall(),
    [ms + 26_000]: () => driver.reportMembers(...HEALTHY_MEMBERS),
    [ms + 86_000]: () => driver.beginCall(20_000, () => new Promise(() => {})),
  });
  await driver.run({ ...outageAt(0), ...outageAt(200_000) });

  const slowCall = { ms: 20_000, reason: unavailable('MongoDB did not complete the call within 20000 ms') };
  const refused = (ms: number) => ({ ms, reason: unavailable(A_AND_B_LOST) });
  const outcomes = [refused(19_999), refused(500), slowCall];
  expect(await Promise.all(driver.calls)).toStrictEqual([...outcomes, ...outcomes]);
  expect(lossDelaysMs).toStrictEqual([0, 0]);
  expect(driver.warnings).toStrictEqual([A_LOST, A_AND_B_LOST, A_IS_BACK, A_LOST, A_AND_B_LOST, A_IS_BACK]);
});

it('PrimaryWatch logs a new reason for a loss at most once per 10 s, and no reason twice in a row', async () => {
  const driver = new DriverModel();
  /** Returns an action: a heartbeat to the member a fails for this reason. */
  const failBecause = (reason: string) => () => {
    driver.client.emit('serverHeartbeatFailed');
    driver.reportMembers({ address: 'a', type: UNKNOWN, error: new Error(reason) }, SECONDARY, SECONDARY);
  };
  // A log line leaves out the milliseconds of a reason, so that all timeouts have the same reason.
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
    61_000: () => driver.reportMembers(...HEALTHY_MEMBERS),
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
  ['a new primary, even if it logged no loss', [[UNKNOWN, PRIMARY, SECONDARY]], [B_IS_PRIMARY]],
  [
    'the loss and the return of a standalone server',
    [['Standalone'], [UNKNOWN], ['Standalone']],
    ['MongoDB has no primary; members: a: Unknown', A_IS_BACK],
  ],
  ['nothing when only a secondary changes', [[PRIMARY, UNKNOWN, SECONDARY], HEALTHY_MEMBERS], []],
])('PrimaryWatch logs %s', (_, reports, warnings) => {
  const driver = new DriverModel();
  driver.reportMembers(...(reports[0]![0] === 'Standalone' ? ['Standalone'] : HEALTHY_MEMBERS));
  for (const members of reports) driver.reportMembers(...members);

  expect(driver.warnings).toStrictEqual(warnings);
});

it('PrimaryWatch lets a waiting call continue when the client is closed, so the client rejects the call', async () => {
  const driver = new DriverModel();
  await driver.run({
    0: () => driver.reportMembers(UNKNOWN, SECONDARY, SECONDARY),
    1: () => driver.beginCall(20_000, () => Promise.reject(new TypeError('closed'))),
    100: () => driver.client.emit('topologyClosed'),
  });

  // A waiting call looks for a primary every 500 ms.
  expect(await driver.calls[0]).toStrictEqual({ ms: 500, reason: new TypeError('closed') });
});
