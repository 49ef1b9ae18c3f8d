import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { numbers } from '../../test/support/numbers.ts';
import { makeNextBuild } from '../../test/upgrade/next-build.ts';
import { API_KEY, DATABASE, type Recording } from './recording.ts';

const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

/** The sizes of a log that is due for a checkpoint, and of one that is not quite. */
const DUE_BYTES = 1_010 * (24 + 4_096);
const ALMOST_DUE_BYTES = 900 * (24 + 4_096);

/** How long a service may need to recover from a failure, and to complete a checkpoint that a reader has cut short. */
const PATIENCE_MS = 9_000;

/** By the URL of a service, the last id that it has answered. */
const lastIds = new Map<string, number>();

/** Adds a pet, however often that takes. After each failure, looks at what is shown: the answers are in the trace. */
async function add(url: string, name: string): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  const key = { 'idempotency-key': name.replaceAll(' ', '-') };
  const body = JSON.stringify({ name, categoryId: 7 });
  const call = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${url}/v1/pets${path}`, { ...init, headers: { ...HEADERS, ...key } });
    return { status: answer.status, id: ((await answer.json()) as { id: number }).id };
  };
  while (performance.now() < untilMs) {
    const { status, id } = await call('', { method: 'POST', body });
    if (status === 201) return void lastIds.set(url, id);
    if (status !== 503) throw new Error(`a pet was not added: ${status}`);
    for (let next = (lastIds.get(url) ?? 0) + 1; (await call(`/${next}`)).status === 200; ) next++;
    await sleep(50);
  }
}

function addTogether(url: string, count: number, label: string): Promise<unknown> {
  return Promise.all(numbers(count).map((number) => add(url, `${label} ${number}`)));
}

/**
 * Adds pets until a checkpoint is due, of which a reader has seen only the beginning. The log was empty when the service
 * started. Then the reader is idle.
 */
async function addBeside(reader: DatabaseSync, recording: Recording, url: string): Promise<void> {
  const fill = async (bytes: number) => {
    const log = recording.path(`${DATABASE}-wal`);
    for (let number = 0; (await stat(log)).size < bytes; number++) await add(url, `fill ${bytes} ${number}`);
  };
  await fill(ALMOST_DUE_BYTES);
  reader.exec('BEGIN; SELECT count(*) FROM pets');
  await fill(DUE_BYTES);
  await add(url, 'cut short');
  reader.exec('ROLLBACK');
}

/** Adds pets until the log begins again: then its header has other salts. */
async function addUntilCheckpoint(recording: Recording, url: string): Promise<void> {
  const salts = async () => (await readFile(recording.path(`${DATABASE}-wal`))).toString('latin1', 16, 24);
  const [before, untilMs] = [await salts(), performance.now() + PATIENCE_MS];
  for (let number = 0; (await salts()) === before && performance.now() < untilMs; number++) {
    await add(url, `checkpoint ${number}`);
    await sleep(150);
  }
}

/** A first start, pets alone and together, a clean end. */
export function recordStart(recording: Recording): Promise<void> {
  return recording.service('a first start', 'SIGTERM', async (url) => {
    await add(url, 'alone');
    await addTogether(url, 4, 'together');
  });
}

/** So many pets that their keys are on many pages. */
export function recordGrowth(recording: Recording): Promise<void> {
  return recording.service('growth', 'SIGTERM', (url) => addTogether(url, 400, 'growth'));
}

/** When the service is killed, the pages of a flush are dirty. */
function killDuringFlush(recording: Recording): Promise<void> {
  return recording.service(
    'a kill during a flush',
    'SIGKILL',
    async (url) => {
      for (const number of numbers(2)) await add(url, `before ${number}`);
      // The service is killed before it answers.
      addTogether(url, 3, 'killed').catch(() => {});
      await sleep(100);
    },
    ['fdatasync,fsync:delay_enter=150000'],
  );
}

/** A start with replays. */
function start(recording: Recording, name = 'a start'): Promise<void> {
  return recording.service(name, 'SIGTERM', async (url) => {
    await addTogether(url, 3, 'killed');
    await add(url, name);
  });
}

type Command = Parameters<Recording['command']>;

async function afterKill(recording: Recording, ...commands: readonly Command[]): Promise<void> {
  await killDuringFlush(recording);
  for (const command of commands) await recording.command(...command);
  await start(recording);
}

const BESIDE_READER = 'pets beside a reader';

let next: Promise<string> | undefined;

/** The next build, once for all lives, beside their directories. */
async function besideOf(recording: Recording): Promise<string> {
  const root = join(dirname(recording.directory), 'next');
  await mkdir(root);
  await makeNextBuild(root);
  return root;
}

/** The lives of a database. The last run of each is a start that should find everything. */
export const LIVES: Readonly<Record<string, (recording: Recording) => Promise<void>>> = {
  'starts after a kill': async (recording) => {
    await killDuringFlush(recording);
    await start(recording);
    await start(recording, 'one more start');
  },

  'checkpoints beside a reader': async (recording) => {
    await recording.service(BESIDE_READER, 'SIGKILL', async (url) => {
      using reader = new DatabaseSync(recording.path(DATABASE), { readOnly: true });
      await addBeside(reader, recording, url);
      await addUntilCheckpoint(recording, url);
      await add(url, 'after the checkpoint');
    });
    await start(recording);
  },

  // The idle program keeps the index in shared memory alive.
  'a start beside an idle program': async (recording) => {
    using reader = new DatabaseSync(recording.path(DATABASE), { readOnly: true });
    await recording.service(BESIDE_READER, 'SIGKILL', (url) => addBeside(reader, recording, url));
    await start(recording, 'a start beside it');
    // It may be refused.
    recording.refusals.splice(0);
    reader.close();
    await start(recording);
  },

  // The next build has a step: a column and an index.
  'an upgrade': async (recording) => {
    await killDuringFlush(recording);
    recording.build = await (next ??= besideOf(recording));
    await start(recording, 'the start of the next build');
    await start(recording);
  },

  keys: (recording) => afterKill(recording, [['keys', 'list']], [['keys', 'create', '--label', 'one']]),
  import: async (recording) => {
    const file = `${recording.directory}.ndjson`;
    const pets = numbers(40).map(
      (id) => `{"id":${id + 9_000},"name":"imported","categoryId":7,"status":"sold"}`,
    );
    await writeFile(file, `${pets.join('\n')}\n`);
    const command: Command = [['import', file], [{ type: 'acknowledged', pets }]];
    await afterKill(recording, command, command);
  },
  copies: async (recording) => {
    const make = (args: readonly string[], file: string, database?: string) =>
      recording.command(args, [{ type: 'written', path: recording.path(file) }], database);
    await killDuringFlush(recording);
    await make(['backup', 'backup.db'], 'backup.db');
    await make(['backup', 'another.db'], 'another.db');
    await make(['export', 'pets.ndjson'], 'pets.ndjson');
    // The second backup may be the run that fails. Then the first one is there.
    const backup = existsSync(recording.path('another.db')) ? 'another.db' : 'backup.db';
    await make(['restore', backup], 'restored.db', 'restored.db');
    await start(recording);
  },
};
