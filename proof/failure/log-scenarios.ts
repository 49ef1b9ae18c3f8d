import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { computeFigures } from './figures.ts';
import type { Scenario } from './scenario.ts';
import { API_KEY } from './service-process.ts';
import { fillDisk, mountSmallDisk } from './sqlite-scenarios.ts';
import type { SqliteStore } from './sqlite-store.ts';
import { until } from './until.ts';

/** An answer may take at most this time. Between two acknowledged pets, at most this time may pass. */
const MAX_WAIT_MS = 1_000;

/** The log lines of 3,300 created pets take about 2 MB. The service buffers less, so it must drop some lines. */
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
    const filler = join(directory, 'filler');
    load.beginFault();
    await fillDisk(filler);
    await load.waitForAcknowledgements(CREATE_COUNT);
    await stage.expectAlive(service);
    await rm(filler);
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
    // Each line must be whole JSON. Only the last line may be incomplete, because the service still runs.
    const completeLines = log.split('\n').slice(0, -1);
    for (const line of completeLines) JSON.parse(line);
  },
};

export const LOG_SCENARIOS: readonly Scenario<SqliteStore>[] = [fullDisk];
