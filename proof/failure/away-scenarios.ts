import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { figures } from './figures.ts';
import { type MongoStore, serviceOn } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';
import type { Footprint, ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';

/** The deadline of a request (`CALL_TIMEOUT_MS` of the MongoDB adapter), plus an allowance for a busy machine. */
const REQUEST_MS = 20_000 + 1_000;
const READINESS_MS = 2_000;
const LIVENESS_MS = 1_000;

const CLIENTS = 200;
/** For each of three members the driver has 50 connections for work and two for monitoring. */
const MONGODB_SOCKETS = 3 * 52;
const GROWTH_MIB = 60;

type Watched = {
  readonly footprints: Footprint[];
  readonly readiness: Probed[];
  readonly liveness: Probed[];
};

type Probed = { readonly status: number; readonly ms: number };

/** Takes MongoDB away from a service under load, and brings it back. */
const frozen: Scenario<MongoStore> = {
  name: 'MongoDB away: all members frozen',
  alone: true,
  async play(stage, store) {
    const { members } = store.set;
    const service = await serviceOn(stage, store);
    const load = await stage.load([service], { clients: CLIENTS, pauseMs: 1_000, patienceMs: 0 });
    await stage.letRun(4);
    const before = await service.footprint();
    load.fault();
    for (const member of members) member.freeze();
    const watched = await watch(service, stage.form === 'short' ? 21_000 : 35_000);
    const returning = performance.now();
    for (const member of members) member.thaw();
    await store.set.primary();
    await stage.resumes(load, returning);
    await stage.letRun(4);
    const after = await service.footprint();
    await load.stop();

    const { unavailable, slowestAnswerMs } = figures(load.history);
    stage.expect('requests were answered 503 meanwhile', unavailable > CLIENTS / 2);
    stage.bar('longest request', slowestAnswerMs, REQUEST_MS);
    publish(stage, before, watched, after);
  },
};

/** Probes repeatedly, as an orchestrator does. */
async function watch(service: ServiceProcess, forMs: number): Promise<Watched> {
  const watched: Watched = { footprints: [], readiness: [], liveness: [] };
  const deadline = performance.now() + forMs;
  // The first answer may date from before the fault.
  await sleep(500);
  while (performance.now() < deadline) {
    const [live, ready] = await Promise.all([probe(`${service.url}/livez`), probe(`${service.url}/readyz`)]);
    watched.liveness.push(live);
    watched.readiness.push(ready);
    watched.footprints.push(await service.footprint());
    await sleep(250);
  }
  return watched;
}

async function probe(url: string): Promise<Probed> {
  const beginMs = performance.now();
  const { status } = await ask(url);
  return { status, ms: performance.now() - beginMs };
}

function publish(stage: Stage, before: Footprint, watched: Watched, after: Footprint): void {
  const { footprints, readiness, liveness } = watched;
  const slowest = (probes: readonly Probed[]) => Math.max(...probes.map(({ ms }) => ms));
  const highest = (what: keyof Footprint) => Math.max(...footprints.map((footprint) => footprint[what]));
  stage.expect('/readyz was 503', readiness.length > 5 && readiness.every(({ status }) => status === 503));
  stage.expect('/livez was 200', liveness.length > 5 && liveness.every(({ status }) => status === 200));
  stage.bar('longest /readyz', slowest(readiness), READINESS_MS);
  stage.bar('longest /livez', slowest(liveness), LIVENESS_MS);
  stage.bar('highest resident memory', highest('rssMiB'), before.rssMiB + GROWTH_MIB, 'MiB');
  stage.bar('most sockets', highest('sockets'), CLIENTS + MONGODB_SOCKETS + 20, '');
  // Steady growth, however slow, is a leak.
  const half = Math.floor(footprints.length / 2);
  const peak = (part: readonly Footprint[]) => Math.max(...part.map(({ rssMiB }) => rssMiB));
  const growth = peak(footprints.slice(half)) - peak(footprints.slice(0, half));
  stage.bar('growth from the first half to the second', growth, GROWTH_MIB / 2, 'MiB');
  const list = (what: keyof Footprint) =>
    `${before[what]} before, ${highest(what)} at most while away, ${after[what]} after`;
  stage.notes.push(`resident MiB: ${list('rssMiB')}`, `sockets: ${list('sockets')}`);
}

export const AWAY_SCENARIOS: readonly Scenario<MongoStore>[] = [frozen];
