import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fifo } from '../support/fifo.ts';
import { ask } from './ask.ts';
import { figures } from './figures.ts';
import type { Load } from './load.ts';
import type { Scenario } from './scenario.ts';
import { API_KEY, type ServiceProcess } from './service-process.ts';
import { fill, mountSmallDisk } from './sqlite-scenarios.ts';
import type { SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/** At most so long may nothing be answered. */
const FREEZE_MS = 1_000;

/** Their lines are some 2 MB, which is more than the service keeps. */
const CREATES = 4_000;

const REPORT = /^.*"msg":"log lines were dropped".*$/m;

const fullDisk: Scenario<SqliteStore> = {
  name: 'log: its disk is full for a while',
  async play(stage, store) {
    const directory = join(store.directory, 'log');
    await mkdir(directory);
    if (!(await mountSmallDisk(stage, directory))) return;
    const path = join(directory, 'log');
    const service = await loggingService(stage, store, path);
    const load = await busyLoad(stage, service);
    const ballast = join(directory, 'ballast');
    load.fault();
    await fill(ballast);
    await created(load, CREATES);
    stage.expect('/livez was 200', (await ask(`${service.url}/livez`)).status === 200);
    await rm(ballast);
    await until('the report of dropped lines', async () => {
      return REPORT.test(await readFile(path, 'utf8')) ? true : undefined;
    });
    load.healed();
    await answeredAll(stage, load);
    told(stage, await readFile(path, 'utf8'));
  },
};

const unread: Scenario<SqliteStore> = {
  name: 'log: nobody reads it for a while',
  async play(stage, store) {
    const log = stage.owned.use(await Fifo.make());
    const service = await loggingService(stage, store, log.path);
    await log.read(/"msg":"listening on /);
    const load = await busyLoad(stage, service);
    load.fault();
    await created(load, CREATES);
    stage.expect('/livez was 200', (await ask(`${service.url}/livez`)).status === 200);
    await log.read(REPORT);
    load.healed();
    await answeredAll(stage, load);
    told(stage, log.text);
    // It is not read any more from here on.
    const { code } = await service.terminate();
    stage.expect(`the service ends with code 0 after SIGTERM (it was ${code})`, code === 0);
    await service.start();
  },
};

function loggingService(stage: Stage, { file }: SqliteStore, path: string): Promise<ServiceProcess> {
  const env = {
    DATABASE_URL: `sqlite:${file}`,
    LOG_LEVEL: 'info',
    // Long lines.
    API_KEYS: `${'l'.repeat(64)}=${API_KEY}`,
  };
  return stage.service(env, undefined, path);
}

function busyLoad(stage: Stage, service: ServiceProcess): Promise<Load> {
  return stage.load([service], { pauseMs: 0 });
}

async function created(load: Load, more: number): Promise<void> {
  const before = load.acknowledged;
  await until(`${more} pets more`, () => (load.acknowledged >= before + more ? true : undefined));
}

async function answeredAll(stage: Stage, load: Load): Promise<void> {
  await load.stop();
  const { failedRequests, longestGap, slowestAnswer } = figures(load.history);
  stage.bar('requests failed', failedRequests, 0, '');
  stage.bar('longest gap', longestGap, FREEZE_MS);
  stage.bar('slowest answer', slowestAnswer, FREEZE_MS);
}

function told(stage: Stage, log: string): void {
  const { lines, auditLines } = JSON.parse(REPORT.exec(log)?.[0] ?? '{}');
  stage.notes.push(`the log told of ${lines} dropped lines, ${auditLines} of them audit lines`);
  stage.expect('the log told how many lines were dropped', lines > 0 && auditLines >= 0);
  // The last one may be on its way.
  const torn = log
    .split('\n')
    .slice(0, -1)
    .filter((line) => !isJson(line));
  stage.expect(`every line of the log is whole; not so: ${torn[0]}`, torn.length === 0);
}

function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

export const LOG_SCENARIOS: readonly Scenario<SqliteStore>[] = [fullDisk, unread];
