import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { numbers } from '../../test/support/numbers.ts';
import { makeNextBuild } from '../../test/upgrade/next-build.ts';
import { API_KEY, DATABASE, type Recording } from './recording.ts';

const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

/** The size of a write-ahead log that is due for a checkpoint, and the size of a log that is almost due. */
const DUE_BYTES = 1_010 * (24 + 4_096);
const ALMOST_DUE_BYTES = 900 * (24 + 4_096);

/**
 * How long a service may take to recover from a failure, and to complete a checkpoint that a reader has interrupted.
 */
const MAX_RECOVERY_MS = 9_000;

/** By the URL of a service: the last id in its answers. */
const lastIds = new Map<string, number>();

/**
 * Adds a pet, with retries after a 503. After each 503 it reads the pets after the last known id. A pet in such an
 * answer is shown, so the search then expects the pet in the database.
 */
async function add(url: string, name: string): Promise<void> {
  const untilMs = performance.now() + MAX_RECOVERY_MS;
  const key = { 'idempotency-key': name.replaceAll(' ', '-') };
  const body = JSON.stringify({ name, categoryId: 7 });
  const call = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${url}/v1/pets${path}`, { ...init, headers: { ...HEADERS, ...key } });
    return { status: answer.status, id: ((await answer.json()) as { id: number }).id };
  };
  while (performance.now() < untilMs) {
    const { status, id: newId } = await call('', { method: 'POST', body });
    if (status === 201) return void lastIds.set(url, newId);
    if (status !== 503) throw new Error(`a create was answered with ${status}`);
    for (let id = (lastIds.get(url) ?? 0) + 1; (await call(`/${id}`)).status === 200; ) id++;
    await sleep(50);
  }
}

function addAtTheSameTime(url: string, count: number, label: string): Promise<unknown> {
  return Promise.all(numbers(count).map((number) => add(url, `${label} ${number}`)));
}

/**
 * Adds pets until a checkpoint is due. Before that, the reader begins a transaction, so the checkpoint cannot copy the
 * pages that are newer than this transaction. Then the transaction ends. The log must be empty when the service starts.
 */
async function addDuringRead(reader: DatabaseSync, recording: Recording, url: string): Promise<void> {
  const fillLog = async (bytes: number) => {
    const log = recording.path(`${DATABASE}-wal`);
    for (let number = 0; (await stat(log)).size < bytes; number++) await add(url, `fill ${bytes} ${number}`);
  };
  await fillLog(ALMOST_DUE_BYTES);
  reader.exec('BEGIN; SELECT count(*) FROM pets');
  await fillLog(DUE_BYTES);
  await add(url, 'during the checkpoint');
  reader.exec('ROLLBACK');
}

/**
 * Adds pets until a checkpoint is complete. The log then begins again, with other salts (random numbers) in its header.
 */
async function addUntilCheckpoint(recording: Recording, url: string): Promise<void> {
  const salts = async () => (await readFile(recording.path(`${DATABASE}-wal`))).toString('latin1', 16, 24);
  const [oldSalts, untilMs] = [await salts(), performance.now() + MAX_RECOVERY_MS];
  for (let number = 0; (await salts()) === oldSalts && performance.now() < untilMs; number++) {
    await add(url, `checkpoint ${number}`);
    await sleep(150);
  }
}

/** Records a first start, one insert, four concurrent inserts, and a drain. */
export function recordStart(recording: Recording): Promise<void> {
  return recording.service('a first start', 'SIGTERM', async (url) => {
    await add(url, 'alone');
    await addAtTheSameTime(url, 4, 'together');
  });
}

/** Records 400 inserts, so that the idempotency keys of the pets fill many pages of the index. */
export function recordGrowth(recording: Recording): Promise<void> {
  return recording.service('growth', 'SIGTERM', (url) => addAtTheSameTime(url, 400, 'growth'));
}

/** Kills the service while a flush is under way, so the pages that the flush must write are dirty in the cache. */
function killDuringFlush(recording: Recording): Promise<void> {
  return recording.service(
    'a kill during a flush',
    'SIGKILL',
    async (url) => {
      for (const number of numbers(2)) await add(url, `before ${number}`);
      // These requests fail, because the service is killed before it answers.
      addAtTheSameTime(url, 3, 'killed').catch(() => {});
      await sleep(100);
    },
    ['fdatasync,fsync:delay_enter=150000'],
  );
}

/** Starts the service, repeats the requests that were sent before the kill, and adds one pet. */
function recordRestart(recording: Recording, name = 'a start'): Promise<void> {
  return recording.service(name, 'SIGTERM', async (url) => {
    await addAtTheSameTime(url, 3, 'killed');
    await add(url, name);
  });
}

type Command = Parameters<Recording['command']>;

async function runAfterKill(recording: Recording, ...commands: readonly Command[]): Promise<void> {
  await killDuringFlush(recording);
  for (const command of commands) await recording.command(...command);
  await recordRestart(recording);
}

const PETS_DURING_READ = 'pets during a read';

let nextBuild: Promise<string> | undefined;

/** Makes the next build, beside the directories of the lives. All lives share it. */
async function makeNextBuildBeside(recording: Recording): Promise<string> {
  const root = join(dirname(recording.directory), 'next');
  await mkdir(root);
  await makeNextBuild(root);
  return root;
}

/** A life is a sequence of runs on one database. The last run of each life is a start, which must find all pets. */
export const LIVES: Readonly<Record<string, (recording: Recording) => Promise<void>>> = {
  'starts after a kill': async (recording) => {
    await killDuringFlush(recording);
    await recordRestart(recording);
    await recordRestart(recording, 'one more start');
  },

  'checkpoints beside a reader': async (recording) => {
    await recording.service(PETS_DURING_READ, 'SIGKILL', async (url) => {
      using reader = new DatabaseSync(recording.path(DATABASE), { readOnly: true });
      await addDuringRead(reader, recording, url);
      await addUntilCheckpoint(recording, url);
      await add(url, 'after the checkpoint');
    });
    await recordRestart(recording);
  },

  // The file `-shm`, SQLite's index of the log in shared memory, survives the kill, because the idle program has it
  // open.
  'a start beside an idle program': async (recording) => {
    using reader = new DatabaseSync(recording.path(DATABASE), { readOnly: true });
    await recording.service(PETS_DURING_READ, 'SIGKILL', (url) => addDuringRead(reader, recording, url));
    await recordRestart(recording, 'a start beside the idle program');
    // The service may refuse this start, so its failure does not count.
    recording.failures.splice(0);
    reader.close();
    await recordRestart(recording);
  },

  // The next build has one more migration step, which adds a column and an index.
  'an upgrade': async (recording) => {
    await killDuringFlush(recording);
    recording.build = await (nextBuild ??= makeNextBuildBeside(recording));
    await recordRestart(recording, 'the start of the next build');
    await recordRestart(recording);
  },

  keys: (recording) => runAfterKill(recording, [['keys', 'list']], [['keys', 'create', '--label', 'one']]),
  import: async (recording) => {
    const file = `${recording.directory}.ndjson`;
    const pets = numbers(40).map(
      (id) => `{"id":${id + 9_000},"name":"imported","categoryId":7,"status":"sold"}`,
    );
    await writeFile(file, `${pets.join('\n')}\n`);
    const command: Command = [['import', file], [{ type: 'acknowledged', pets }]];
    await runAfterKill(recording, command, command);
  },
  copies: async (recording) => {
    const run = (args: readonly string[], file: string, database?: string) =>
      recording.command(args, [{ type: 'written', path: recording.path(file) }], database);
    await killDuringFlush(recording);
    await run(['backup', 'backup.db'], 'backup.db');
    await run(['backup', 'another.db'], 'another.db');
    await run(['export', 'pets.ndjson'], 'pets.ndjson');
    // The restore uses the first backup if the second backup is the run that fails.
    const backup = existsSync(recording.path('another.db')) ? 'another.db' : 'backup.db';
    await run(['restore', backup], 'restored.db', 'restored.db');
    await recordRestart(recording);
  },
};
