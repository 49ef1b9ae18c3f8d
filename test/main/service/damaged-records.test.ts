import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import type { ArchivedPet } from '../../../src/application/ports/pet-archive.ts';
import { newApiKey, SCOPES } from '../../../src/domain/api-key.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { ask } from '../../support/client.ts';
import { Command, FAILED, succeeds } from '../../support/command.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { startService } from '../../support/service.ts';
import { damage, newFile, silentLog } from '../../support/sqlite.ts';

const PETS = archivedPets(2500);
const DAMAGED = PETS[2100]!;
const LINE =
  `petstore: the pet with the id ${DAMAGED.id} is damaged in the storage: ` +
  'status must be one of available, pending, sold\n';

async function sqliteWith(pets: readonly ArchivedPet[]): Promise<string> {
  const file = await newFile();
  const { archive, close } = await openSqliteStorage(file, silentLog);
  await archive.write(pets);
  await close();
  return file;
}

async function damagedFile(): Promise<string> {
  const file = await sqliteWith(PETS);
  damage(file, `UPDATE pets SET status = 'secret' WHERE id = ${DAMAGED.id}`);
  return file;
}

/** Runs a command, which must fail. */
async function fails(args: readonly string[], env: Record<string, string> = {}): Promise<Command> {
  const program = new Command(args, env);
  expect(await program.ended, program.stderr).toBe(FAILED);
  return program;
}

describe('a damaged pet in SQLite', () => {
  it('stops an export to a file, and leaves none; the export succeeds after a repair', async () => {
    const file = await damagedFile();
    const path = join(dirname(file), 'out', 'pets.ndjson');
    await mkdir(dirname(path));

    const program = await fails(['export', '--from', `sqlite:${file}`, path]);
    expect(program.stderr).toBe(LINE);
    expect(await readdir(dirname(path))).toStrictEqual([]);

    damage(file, `UPDATE pets SET status = '${DAMAGED.status}' WHERE id = ${DAMAGED.id}`);
    await succeeds(['export', '--from', `sqlite:${file}`, path]);
    expect(await readFile(path, 'utf8')).toBe(petLines(PETS));
  });

  it('stops an export to standard output', async () => {
    const program = await fails(['export', '--from', `sqlite:${await damagedFile()}`]);
    expect(program.stderr).toBe(LINE);
    expect(program.stdout).toBe(petLines(PETS.slice(0, 2000)));
  });

  it('stops a copy from the file and a copy to it', async () => {
    const source = await sqliteWith(PETS);
    const from = await fails(['copy', '--from', `sqlite:${await damagedFile()}`, '--to', `sqlite:${source}`]);
    expect([from.stdout, from.stderr]).toStrictEqual(['', LINE]);
    const missing = await newFile();
    await fails(['copy', '--from', `sqlite:${await damagedFile()}`, '--to', `sqlite:${missing}`]);
    expect(await readdir(dirname(missing))).toStrictEqual([]);
    const to = await fails(['copy', '--from', `sqlite:${source}`, '--to', `sqlite:${await damagedFile()}`]);
    expect([to.stdout, to.stderr]).toStrictEqual(['', LINE]);
  });

  it('is an error in the log of the service, with its id and none of its contents', async () => {
    const { url, log, logged } = await startService({ DATABASE_URL: `sqlite:${await damagedFile()}` });

    const answer = await ask(`${url}/v1/pets/${DAMAGED.id}`, { headers: { 'x-request-id': 'it' } });

    expect(answer.status).toBe(503);
    expect(await logged(/^failure$/)).toMatchObject({
      level: 50,
      requestId: 'it',
      err: { type: 'DamagedPet', kind: 'damaged-pet', id: Number(DAMAGED.id) },
    });
    expect(JSON.stringify(log)).not.toContain('secret');
  });
});

describe.skipIf(mongo === undefined)(`a damaged pet in MongoDB${leftOut}`, () => {
  it('stops an export and a copy', async () => {
    const { url, pets } = await freshDatabase(mongo!);
    await pets.insertMany([1n, 2n, 3n].map((_id) => ({ _id, name: 'Rex', categoryId: 7n, status: 'sold' })));
    await pets.updateOne({ _id: 2n }, { $unset: { name: '' } }, { bypassDocumentValidation: true });
    const line = 'petstore: the pet with the id 2 is damaged in the storage: name must be a string\n';

    const exporting = await fails(['export', '--from', url]);
    expect([exporting.stdout, exporting.stderr]).toStrictEqual(['', line]);
    const copying = await fails(['copy', '--from', url, '--to', `sqlite:${await newFile()}`]);
    expect([copying.stdout, copying.stderr]).toStrictEqual(['', line]);
  });
});

describe('a damaged API key', () => {
  const lineOf = (id: string) =>
    `petstore: the API key ${id} is damaged in the storage: scopes must be one or more of pets:read, pets:write\n`;

  async function withKeys() {
    const file = await newFile();
    const { keys, close } = await openSqliteStorage(file, silentLog);
    const [good, bad] = [mintKey(), mintKey()];
    for (const [{ id, digest }, label] of [
      [good, 'good'],
      [bad, 'bad'],
    ] as const) {
      await keys.insert({ id, digest, ...newApiKey({ label, scopes: SCOPES }, new Date()) });
    }
    await close();
    damage(file, `UPDATE api_keys SET scopes = 'secret' WHERE id = '${bad.id}'`);
    return { DATABASE_URL: `sqlite:${file}`, good, bad };
  }

  it('is refused with 503; the other keys stay valid', async () => {
    const { DATABASE_URL, good, bad } = await withKeys();
    const { url, log, logged } = await startService({ API_KEYS: '', DATABASE_URL });

    const answer = await ask(`${url}/v1/pets`, { key: bad.token });
    const message = 'a stored record is damaged; it has been logged under this request id';
    expect(answer.status).toBe(503);
    expect(answer.body).toBe(JSON.stringify({ code: 'UNAVAILABLE', message, status: 503 }));
    expect((await ask(`${url}/v1/pets`, { key: good.token })).status).toBe(200);
    expect(await logged(/^failure$/)).toMatchObject({
      level: 50,
      err: { kind: 'damaged-api-key', id: bad.id },
    });
    expect(JSON.stringify(log)).not.toContain('secret');
  });

  it('is listed beside the other keys, as text and as JSON', async () => {
    const { DATABASE_URL, good, bad } = await withKeys();

    const table = await fails(['keys', 'list'], { DATABASE_URL });
    expect(table.stderr).toBe(lineOf(bad.id));
    expect(table.stdout).toMatch(new RegExp(`^${bad.id}  damaged$`, 'm'));
    expect(table.stdout).toMatch(new RegExp(`^${good.id}  active .* good$`, 'm'));

    const json = await fails(['keys', 'list', '--json'], { DATABASE_URL });
    expect(JSON.parse(json.stdout)).toContainEqual({ id: bad.id, state: 'damaged' });
    expect(JSON.parse(json.stdout)).toHaveLength(2);
  });

  it.each(['show', 'revoke', 'rotate'])('is named by %s', async (command) => {
    const { DATABASE_URL, bad } = await withKeys();
    const program = await fails(['keys', command, bad.id], { DATABASE_URL });
    expect([program.stdout, program.stderr]).toStrictEqual(['', lineOf(bad.id)]);
  });

  it('is not copied', async () => {
    const { DATABASE_URL, bad } = await withKeys();
    const target = await newFile();
    const program = await fails(['copy', '--from', DATABASE_URL, '--to', `sqlite:${target}`]);
    expect([program.stdout, program.stderr]).toStrictEqual(['', lineOf(bad.id)]);
    expect(await readdir(dirname(target))).toStrictEqual([]);
  });
});
