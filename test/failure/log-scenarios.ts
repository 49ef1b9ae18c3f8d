import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fifo } from '../support/fifo.ts';
import { figures } from './figures.ts';
import type { Load } from './load.ts';
import type { Scenario } from './scenario.ts';
import { API_KEY, type ServiceProcess } from './service-process.ts';
import { fill, mountSmallDisk } from './sqlite-scenarios.ts';
import type { SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/** The longest time that the service may take for an answer. */
const FREEZE_MS = 1_000;

/** Their log lines take about 2 MB, which is more than the service buffers. */
const CREATES = 3_300;

const REPORT = /^.*"msg":"log lines were dropped".*$/m;

const fullDisk: Scenario<SqliteStore> = {
  name: 'log: its disk is full for a while',
  alone: true,
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
    await load.acknowledges(CREATES);
    await stage.expectAlive(service);
    await rm(ballast);
    await until('the report of dropped lines', async () => REPORT.test(await readFile(path, 'utf8')));
    load.healed();
    await expectAllAnswered(stage, load);
    expectReported(stage, await readFile(path, 'utf8'));
  },
};

const unread: Scenario<SqliteStore> = {
  name: 'log: nobody reads it for a while',
  alone: true,
  async play(stage, store) {
    const log = stage.owned.use(await Fifo.make());
    const service = await loggingService(stage, store, log.path);
    await log.read(/"msg":"listening on /);
    const load = await busyLoad(stage, service);
    load.fault();
    await load.acknowledges(CREATES);
    await stage.expectAlive(service);
    await log.read(REPORT);
    load.healed();
    await expectAllAnswered(stage, load);
    expectReported(stage, log.text);
    // From here on the log has no reader.
    await stage.terminate(service);
    await service.start();
  },
};

function loggingService(stage: Stage, { file }: SqliteStore, path: string): Promise<ServiceProcess> {
  const env = {
    DATABASE_URL: `sqlite:${file}`,
    LOG_LEVEL: 'info',
    // A long label makes long lines.
    API_KEYS: `${'l'.repeat(64)}=${API_KEY}`,
  };
  return stage.service(env, { logPath: path });
}

function busyLoad(stage: Stage, service: ServiceProcess): Promise<Load> {
  return stage.load([service], { pauseMs: 0 });
}

async function expectAllAnswered(stage: Stage, load: Load): Promise<void> {
  await load.stop();
  const { failedRequests, longestGapMs, slowestAnswerMs } = figures(load.history);
  stage.bar('requests failed', failedRequests, 0, '');
  stage.bar('longest gap', longestGapMs, FREEZE_MS);
  stage.bar('slowest answer', slowestAnswerMs, FREEZE_MS);
}

function expectReported(stage: Stage, log: string): void {
  const { lines, auditLines } = JSON.parse(REPORT.exec(log)?.[0] ?? '{}');
  stage.notes.push(`the log reported ${lines} dropped lines, ${auditLines} of them audit lines`);
  stage.expect('the log reported how many lines were dropped', lines > 0 && auditLines >= 0);
  // The last line may be incomplete.
  const torn = log
    .split('\n')
    .slice(0, -1)
    .filter((line) => !isJson(line));
  stage.expect(`every line of the log is complete; not so: ${torn[0]}`, torn.length === 0);
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
