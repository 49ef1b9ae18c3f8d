import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { figures } from './figures.ts';
import type { Scenario } from './scenario.ts';
import { API_KEY } from './service-process.ts';
import { fill, mountSmallDisk } from './sqlite-scenarios.ts';
import type { SqliteStore } from './sqlite-store.ts';
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
    // A long label makes long lines.
    const API_KEYS = `${'l'.repeat(64)}=${API_KEY}`;
    const env = { DATABASE_URL: `sqlite:${store.file}`, LOG_LEVEL: 'info', API_KEYS };
    const service = await stage.service(env, { logPath: path });
    const load = await stage.load([service], { pauseMs: 0 });
    const ballast = join(directory, 'ballast');
    load.fault();
    await fill(ballast);
    await load.acknowledges(CREATES);
    await stage.expectAlive(service);
    await rm(ballast);
    await until('the report of dropped lines', async () => REPORT.test(await readFile(path, 'utf8')));
    load.healed();
    await load.stop();

    const { failedRequests, longestGapMs, slowestAnswerMs } = figures(load.history);
    stage.bar('requests failed', failedRequests, 0, '');
    stage.bar('longest gap', longestGapMs, FREEZE_MS);
    stage.bar('slowest answer', slowestAnswerMs, FREEZE_MS);
    const log = await readFile(path, 'utf8');
    const { lines } = JSON.parse(REPORT.exec(log)?.[0] ?? '{}');
    stage.notes.push(`the log reported ${lines} dropped lines`);
    stage.expect('the log reported how many lines were dropped', lines > 0);
    // The last line may be incomplete.
    const whole = log.split('\n').slice(0, -1);
    for (const line of whole) JSON.parse(line);
  },
};

export const LOG_SCENARIOS: readonly Scenario<SqliteStore>[] = [fullDisk];
