import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { computeFigures } from './figures.ts';
import type { Scenario } from './scenario.ts';
import { API_KEY } from './service-process.ts';
import { fillDisk, mountSmallDisk } from './sqlite-scenarios.ts';
import type { SqliteStore } from './sqlite-store.ts';
import { until } from './until.ts';

/** The longest time that the service may take for an answer, and between two acknowledged pets. */
const MAX_WAIT_MS = 1_000;

/** The log lines of this many created pets take about 2 MB, which is more than the service buffers. */
const CREATE_COUNT = 3_300;

const REPORT_LINE = /^.*"msg":"log lines were dropped".*$/m;

const fullDisk: Scenario<SqliteStore> = {
  name: 'log: the disk of the log is full for a while',
  isPlayedAlone: true,
  async play(stage, store) {
    const directory = join(store.directory, 'log');
    await mkdir(directory);
    if (!(await mountSmallDisk(stage, directory))) return;
    const path = join(directory, 'log');
    // Each log line has the label of the API key, so a long label makes long lines.
    const API_KEYS = `${'l'.repeat(64)}=${API_KEY}`;
    const env = { DATABASE_URL: `sqlite:${store.file}`, LOG_LEVEL: 'info', API_KEYS };
    const service = await stage.startService(env, { logPath: path });
    const load = await stage.startLoad([service], { pauseMs: 0 });
    const ballast = join(directory, 'ballast');
    load.beginFault();
    await fillDisk(ballast);
    await load.waitForAcknowledgements(CREATE_COUNT);
    await stage.expectAlive(service);
    await rm(ballast);
    await until('the report of dropped lines', async () => REPORT_LINE.test(await readFile(path, 'utf8')));
    load.endFault();
    await load.stop();

    const { failedRequests, longestGapMs, slowestAnswerMs } = computeFigures(load.history);
    stage.expectAtMost('requests failed', failedRequests, 0, '');
    stage.expectAtMost('longest gap', longestGapMs, MAX_WAIT_MS);
    stage.expectAtMost('slowest answer', slowestAnswerMs, MAX_WAIT_MS);
    const log = await readFile(path, 'utf8');
    const { lines } = JSON.parse(REPORT_LINE.exec(log)?.[0] ?? '{}');
    stage.notes.push(`the log reported ${lines} dropped lines`);
    stage.expect('the log reported how many lines were dropped', lines > 0);
    // The last line is left out, because it may be incomplete.
    const completeLines = log.split('\n').slice(0, -1);
    for (const line of completeLines) JSON.parse(line);
  },
};

export const LOG_SCENARIOS: readonly Scenario<SqliteStore>[] = [fullDisk];
