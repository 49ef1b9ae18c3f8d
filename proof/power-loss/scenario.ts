import { writeFile } from 'node:fs/promises';
import { numbers } from '../../test/support/numbers.ts';
import { API_KEY, type Recording } from './recording.ts';

const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

/** Adds a pet. */
async function add(url: string, name: string, key?: string): Promise<void> {
  const headers = key === undefined ? HEADERS : { ...HEADERS, 'idempotency-key': key };
  const body = JSON.stringify({ name, categoryId: 7 });
  const answer = await fetch(`${url}/v1/pets`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(`a pet was not added: ${await answer.text()}`);
  await answer.text();
}

function addTogether(url: string, count: number, label: string): Promise<unknown> {
  return Promise.all(numbers(count).map((number) => add(url, `${label} ${number}`, `${label}-${number}`)));
}

const DATABASE = 'petstore.db';

/** A first start, pets alone and together, a clean end. What `npm test` plays. */
export async function recordStart(recording: Recording): Promise<void> {
  await recording.service('a first start', { database: DATABASE, end: 'SIGTERM' }, async (url) => {
    await add(url, 'alone');
    await addTogether(url, 4, 'together');
  });
}

/** The rest of the life of a database: a kill during a flush, a checkpoint, and every command that writes files. */
export async function recordLife(recording: Recording, pets: number): Promise<void> {
  const slowFlush = ['fdatasync,fsync:delay_enter=150000'];
  const killed = { database: DATABASE, inject: slowFlush, end: 'SIGKILL' } as const;
  await recording.service('a kill during a flush', killed, async (url) => {
    await add(url, 'before the kill');
    // The service is killed before it answers.
    addTogether(url, 6, 'killed').catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 100));
  });
  await recording.service('a restart with replays', { database: DATABASE, end: 'SIGTERM' }, (url) =>
    addTogether(url, 6, 'killed'),
  );
  await recording.service('checkpoints', { database: DATABASE, end: 'SIGKILL' }, async (url) => {
    for (const round of numbers(pets / 2)) await addTogether(url, 2, `round-${round}`);
  });
  await recording.command('backup', DATABASE, ['backup', 'backup.db'], { written: 'backup.db' });
  await recording.command('export', DATABASE, ['export', 'pets.ndjson'], { written: 'pets.ndjson' });
  const imported = numbers(40).map(
    (id) => `{"id":${id + 1},"name":"imported","categoryId":7,"status":"sold"}`,
  );
  await writeFile(`${recording.directory}.ndjson`, `${imported.join('\n')}\n`);
  await recording.command('import', 'imported.db', ['import', `${recording.directory}.ndjson`], {
    pets: imported,
  });
  await recording.command('restore', 'restored.db', ['restore', 'backup.db'], { written: 'restored.db' });
}
