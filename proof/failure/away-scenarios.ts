import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { computeFigures } from './figures.ts';
import { type MongoStore, startServiceOn } from './mongodb-store.ts';
import type { Scenario } from './scenario.ts';
import type { Footprint, ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';

/** The service waits for MongoDB at most 20 s (`CALL_TIMEOUT_MS`). The other second is for a busy machine. */
const MAX_REQUEST_MS = 20_000 + 1_000;
const MAX_READYZ_MS = 2_000;
const MAX_LIVEZ_MS = 1_000;

const CLIENTS = 200;
/** To each of the three members, the driver opens at most 50 connections for commands and two for monitoring. */
const MONGODB_SOCKETS = 3 * 52;
/** The resident memory of the service may grow by at most this many MiB while MongoDB is away. */
const MAX_GROWTH_MIB = 60;

/** What {@link observe} found while MongoDB was away: the resources of the service, and its answers to two probes. */
type Observations = {
  readonly footprints: Footprint[];
  readonly readyz: ProbeResult[];
  readonly livez: ProbeResult[];
};

type ProbeResult = { readonly status: number; readonly ms: number };

/** Freezes all members of the replica set while a service is under load, and thaws them later. */
const freezeAllMembers: Scenario<MongoStore> = {
  name: 'MongoDB away: all members frozen',
  isPlayedAlone: true,
  async play(stage, store) {
    const { members } = store.set;
    const service = await startServiceOn(stage, store);
    const load = await stage.startLoad([service], { clients: CLIENTS, pauseMs: 1_000, patienceMs: 0 });
    await stage.letRun(4);
    const footprintBefore = await service.footprint();
    load.beginFault();
    for (const member of members) member.freeze();
    // The answers of 503 come after up to 20 s, so the observation takes longer.
    const observations = await observe(service, stage.form === 'short' ? 21_000 : 35_000);
    const thawBeginMs = performance.now();
    for (const member of members) member.thaw();
    await store.set.primary();
    await stage.expectRecovery(load, thawBeginMs);
    await stage.letRun(4);
    const footprintAfter = await service.footprint();
    await load.stop();

    const { answers503, slowestAnswerMs } = computeFigures(load.history);
    stage.expect('requests were answered with 503 while MongoDB was away', answers503 > CLIENTS / 2);
    stage.expectAtMost('longest request', slowestAnswerMs, MAX_REQUEST_MS);
    checkFigures(stage, footprintBefore, observations, footprintAfter);
  },
};

/** Requests `/livez` and `/readyz` repeatedly, as an orchestrator does, and measures the resources of the service. */
async function observe(service: ServiceProcess, forMs: number): Promise<Observations> {
  const observations: Observations = { footprints: [], readyz: [], livez: [] };
  const deadline = performance.now() + forMs;
  // Right after the freeze, `/readyz` may answer 200, because it uses the result of an earlier check for a short time.
  await sleep(500);
  while (performance.now() < deadline) {
    const [live, ready] = await Promise.all([probe(`${service.url}/livez`), probe(`${service.url}/readyz`)]);
    observations.livez.push(live);
    observations.readyz.push(ready);
    observations.footprints.push(await service.footprint());
    await sleep(250);
  }
  return observations;
}

async function probe(url: string): Promise<ProbeResult> {
  const beginMs = performance.now();
  const { status } = await ask(url);
  return { status, ms: performance.now() - beginMs };
}

function checkFigures(stage: Stage, before: Footprint, observations: Observations, after: Footprint): void {
  const { footprints, readyz, livez } = observations;
  const slowest = (probes: readonly ProbeResult[]) => Math.max(...probes.map(({ ms }) => ms));
  const highest = (what: keyof Footprint) => Math.max(...footprints.map((footprint) => footprint[what]));
  stage.expect('/readyz answered 503', readyz.length > 5 && readyz.every(({ status }) => status === 503));
  stage.expect('/livez answered 200', livez.length > 5 && livez.every(({ status }) => status === 200));
  stage.expectAtMost('longest /readyz', slowest(readyz), MAX_READYZ_MS);
  stage.expectAtMost('longest /livez', slowest(livez), MAX_LIVEZ_MS);
  stage.expectAtMost('highest resident memory', highest('rssMiB'), before.rssMiB + MAX_GROWTH_MIB, 'MiB');
  // 20 more sockets are allowed, for example for `/livez`, for `/readyz` and for the port of the service.
  stage.expectAtMost('most sockets', highest('sockets'), CLIENTS + MONGODB_SOCKETS + 20, '');
  // A leak would make the memory grow from the first half of the observation to the second half.
  const middle = Math.floor(footprints.length / 2);
  const highestRssMib = (part: readonly Footprint[]) => Math.max(...part.map(({ rssMiB }) => rssMiB));
  const growth = highestRssMib(footprints.slice(middle)) - highestRssMib(footprints.slice(0, middle));
  stage.expectAtMost('growth from the first half to the second', growth, MAX_GROWTH_MIB / 2, 'MiB');
  const describeResource = (what: keyof Footprint) =>
    `${before[what]} before, ${highest(what)} at most while away, ${after[what]} after`;
  stage.notes.push(`resident MiB: ${describeResource('rssMiB')}`, `sockets: ${describeResource('sockets')}`);
}

export const AWAY_SCENARIOS: readonly Scenario<MongoStore>[] = [freezeAllMembers];
