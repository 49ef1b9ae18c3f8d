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

const P = 'RSPrimary';
const S = 'RSSecondary';
const NONE = 'Unknown';
const LOST = 'MongoDB has no primary; members: a: Unknown, b: RSSecondary, c: RSSecondary';
const TWO_LOST = LOST.replace('b: RSSecondary', 'b: Unknown');
const BACK = 'MongoDB has a primary again: a';
const unavailable = (message: string) => expect.objectContaining({ name: 'StorageUnavailable', message });
const NO_PRIMARY = unavailable(LOST);

/** What the driver tells of the members a, b and c, on a virtual clock, and what calls and the log say. */
class Night {
  readonly client = new EventEmitter();
  readonly simulation = new Simulation(new SeededRandom(1));
  readonly warnings: string[] = [];
  /** How each call ends, and after how many milliseconds. */
  readonly calls: Promise<{ ms: number; value?: string; reason?: unknown }>[] = [];
  readonly reads = new ConfirmedReads(this as unknown as Db, {
    warn: (line) => void this.warnings.push(line),
  });
  /** What the primary answers to a linearizable read. */
  confirm = async () => {};
  #servers: readonly Server[] = [{ address: 'a', type: P }];
  #term = 0;

  collection(): object {
    return { findOne: () => this.confirm() };
  }

  sees(...servers: readonly (string | Server)[]): void {
    const before = this.#servers;
    this.#servers = servers.map((server, n) =>
      typeof server === 'string' ? { address: 'abc'[n]!, type: server } : server,
    );
    const isElection = this.#servers.some(({ type }, n) => type === P && before[n]?.type !== P);
    if (isElection) this.#term++;
    const describe = (all: readonly Server[]) => ({
      servers: new Map(
        all.map((server) => [
          server.address,
          { ...server, electionId: { toHexString: () => `${this.#term}` } },
        ]),
      ),
    });
    const event = { previousDescription: describe(before), newDescription: describe(this.#servers) };
    this.client.emit('topologyDescriptionChanged', event);
  }

  /** Begins a call. */
  call(timeoutMs = 20_000, read = async () => 'pets'): void {
    this.calls.push(this.#outcome(timeoutMs, read));
  }

  async #outcome(timeoutMs: number, read: () => Promise<string>) {
    const beganMs = this.simulation.nowMs;
    const [outcome] = await Promise.allSettled([this.reads.read(timeoutMs, read)]);
    const ms = Math.round(this.simulation.nowMs - beganMs);
    return outcome.status === 'fulfilled' ? { ms, value: outcome.value } : { ms, reason: outcome.reason };
  }

  /** Plays what happens after so many milliseconds. */
  async play(events: Readonly<Record<number, () => unknown>>): Promise<void> {
    this.simulation.calm();
    using _ = virtualTime(this.simulation, () => 1);
    // Ends a call that asks for the time again and again instead of waiting.
    let readings = 0;
    Object.assign(performance, { now: () => (++readings < 1e6 ? this.simulation.nowMs : Infinity) });
    this.sees(P, S, S);
    for (const [ms, run] of Object.entries(events)) {
      this.simulation.later(`at ${ms}`, Number(ms), () => void run());
    }
    await this.simulation.run();
  }
}

it('PrimaryWatch ends calls when an election should be over, and later calls within a second, until there is a primary', async () => {
  const night = new Night();
  const abandoned = vi.fn<() => Promise<string>>();
  await night.play({
    0: () => night.sees(NONE, S, S),
    1: () => night.call(20_000, abandoned),
    4_000: () => night.call(),
    19_900: () => night.call(),
    25_000: () => night.call(),
    // Of a probe.
    25_001: () => night.call(1_500),
    // Of a command, which waits as long as it may.
    25_002: () => night.call(90_000),
    25_500: () => night.call(),
    // Before the pauses of the calls end.
    25_901: () => night.sees(NONE, P, S),
    26_000: () => night.call(),
  });

  const refused = (ms: number) => ({ ms, reason: NO_PRIMARY });
  const answered = (ms: number) => ({ ms, value: 'pets' });
  expect(await Promise.all(night.calls)).toStrictEqual([
    refused(19_999),
    refused(16_000),
    refused(500),
    refused(500),
    refused(500),
    answered(899),
    answered(401),
    answered(0),
  ]);
  expect(abandoned).not.toHaveBeenCalled();
  expect(night.warnings).toStrictEqual([LOST, 'MongoDB has a primary again: b']);
});

it('PrimaryWatch dates a loss from the last answer of the primary, on the clock of the driver', async () => {
  const night = new Night();
  const a = { address: 'a', type: NONE, lastUpdateTime: 72_500 };
  let beganMs = NaN;
  await night.play({
    0: () => void (beganMs = performance.now()),
    100: () => night.sees({ ...a, type: P, lastUpdateTime: 70_000 }, S, S),
    2_600: () => night.sees(a, S, S),
    3_000: () => night.call(),
  });
  const { reason } = (await night.calls[0]) as { readonly reason: StorageUnavailable };
  expect(Math.round(reason.sinceMs! - beganMs)).toBe(100);

  expect(await night.calls[0]).toStrictEqual({ ms: 17_100, reason: NO_PRIMARY });
});

it('PrimaryWatch limits calls in the same way while a primary shows no majority, unless a read confirms it', async () => {
  const night = new Night();
  let isAlone = true;
  night.confirm = () => (isAlone ? new Promise(() => {}) : Promise.resolve());
  await night.play({
    0: () => night.sees(P, NONE, NONE),
    19_500: () => night.call(),
    // After the confirmation that is under way was abandoned.
    24_000: () => void (isAlone = false),
    25_000: () => night.call(),
    26_000: () => void (isAlone = true),
    43_000: () => night.call(),
  });

  const late = (ms: number) => unavailable(`MongoDB did not complete the call within ${ms} ms`);
  expect(await Promise.all(night.calls)).toStrictEqual([
    { ms: 500, reason: late(500) },
    { ms: 0, value: 'pets' },
    { ms: 2_000, reason: late(2_000) },
  ]);
  expect(night.warnings).toStrictEqual([]);
});

it('PrimaryWatch limits, logs and dates a second outage like the first one, and leaves a slow call between them its own deadline', async () => {
  const night = new Night();
  const afterLossMs: number[] = [];
  const lose = () => {
    const beganMs = performance.now();
    night.sees(NONE, S, S);
    afterLossMs.push(night.reads.watch.lostMs! - beganMs);
  };
  const outage = (ms: number) => ({
    [ms]: lose,
    [ms + 1]: () => night.call(),
    [ms + 10_000]: () => night.sees(NONE, NONE, S),
    [ms + 25_000]: () => night.call(),
    [ms + 26_000]: () => night.sees(P, S, S),
    [ms + 86_000]: () => night.call(20_000, () => new Promise(() => {})),
  });
  await night.play({ ...outage(0), ...outage(200_000) });

  const slow = { ms: 20_000, reason: unavailable('MongoDB did not complete the call within 20000 ms') };
  const late = (ms: number) => ({ ms, reason: unavailable(TWO_LOST) });
  const each = [late(19_999), late(500), slow];
  expect(await Promise.all(night.calls)).toStrictEqual([...each, ...each]);
  expect(afterLossMs).toStrictEqual([0, 0]);
  expect(night.warnings).toStrictEqual([LOST, TWO_LOST, BACK, LOST, TWO_LOST, BACK]);
});

it('PrimaryWatch logs the newest reason for a loss at most once per 10 s, and no reason twice in a row', async () => {
  const night = new Night();
  const failing = (reason: string) => () => {
    night.client.emit('serverHeartbeatFailed');
    night.sees({ address: 'a', type: NONE, error: new Error(reason) }, S, S);
  };
  const lines = (...reasons: readonly string[]) =>
    reasons.map((reason) => LOST.replace('a: Unknown', `a: ${reason}`));
  await night.play({
    0: failing('interrupted'),
    1_000: failing('connect ECONNREFUSED'),
    5_000: failing('timed out after 2003ms'),
    // Of a heartbeat that has failed for the same reason, so that the driver sees no change.
    10_000: () => night.client.emit('serverHeartbeatFailed'),
    15_000: failing('getaddrinfo EAI_AGAIN'),
    15_500: failing('timed out after 2001ms'),
    20_000: () => night.client.emit('serverHeartbeatFailed'),
    60_000: failing('self-signed certificate'),
    61_000: () => night.sees(P, S, S),
    90_000: () => night.sees(NONE, S, S),
  });

  expect(night.warnings).toStrictEqual([
    ...lines('interrupted', 'timed out', 'self-signed certificate'),
    BACK,
    LOST,
  ]);
});

it.each<readonly [string, readonly (readonly (string | Server)[])[], readonly string[]]>([
  [
    'a loss once, however often the members change soon after it',
    [
      [NONE, S, S],
      [NONE, NONE, S],
      [NONE, S, S],
    ],
    [LOST],
  ],
  ['a new primary even if no loss was logged before it', [[NONE, P, S]], ['MongoDB has a primary again: b']],
  [
    'the loss and the return of a standalone server',
    [['Standalone'], [NONE], ['Standalone']],
    ['MongoDB has no primary; members: a: Unknown', 'MongoDB has a primary again: a'],
  ],
  [
    'nothing about other members',
    [
      [P, NONE, S],
      [P, S, S],
    ],
    [],
  ],
])('PrimaryWatch logs %s', (_, views, warnings) => {
  const night = new Night();
  night.sees(...(views[0]![0] === 'Standalone' ? ['Standalone'] : [P, S, S]));
  for (const view of views) night.sees(...view);

  expect(night.warnings).toStrictEqual(warnings);
});

it('PrimaryWatch leaves it to a closed client to reject calls before their deadline', async () => {
  const night = new Night();
  await night.play({
    0: () => night.sees(NONE, S, S),
    1: () => night.call(20_000, () => Promise.reject(new TypeError('closed'))),
    100: () => night.client.emit('topologyClosed'),
  });

  expect(await night.calls[0]).toStrictEqual({ ms: 500, reason: new TypeError('closed') });
});
