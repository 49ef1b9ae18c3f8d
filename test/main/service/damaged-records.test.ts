import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { petLines } from '../../../src/adapters/ndjson/pet-line.ts';
import { archivedPets } from '../../support/archived-pets.ts';
import { ask } from '../../support/client.ts';
import { runFailing, runCommand } from '../../support/command.ts';
import { startService } from '../../support/service.ts';
import { damage, fileWith, newPath } from '../../support/sqlite.ts';

const PETS = archivedPets(1100);
const DAMAGED_PET = PETS[1050]!;
const DAMAGED_PET_LINE =
  `petstore: the pet with the id ${DAMAGED_PET.id} is damaged in the storage: ` +
  'status must be one of available, pending, sold\n';

async function makeDamagedFile(): Promise<string> {
  const file = await fileWith(PETS);
  damage(file, `UPDATE pets SET status = 'secret' WHERE id = ${DAMAGED_PET.id}`);
  return `sqlite:${file}`;
}

it.each<readonly [string, string, (damaged: string, sound: string, file: string) => readonly string[]]>([
  ['an export to standard output', petLines(PETS.slice(0, 1000)), (from) => ['export', '--from', from]],
  ['an export to a file', '', (from, _, file) => ['export', '--from', from, file]],
  ['a copy to the damaged storage', '', (to, from) => ['copy', '--from', from, '--to', to]],
])('a damaged pet stops %s, which leaves no new file', async (_, printed, argumentsFor) => {
  const target = await newPath();
  const sound = `sqlite:${await fileWith(PETS)}`;
  const program = await runFailing(argumentsFor(await makeDamagedFile(), sound, target));
  expect([program.stdout, program.stderr]).toStrictEqual([printed, DAMAGED_PET_LINE]);
  expect(await readdir(dirname(target))).toStrictEqual([]);
});

const damagedKeyLine = (id: string) =>
  `petstore: the API key ${id} is damaged in the storage: scopes must be one or more of pets:read, pets:write\n`;

async function makeFileWithKeys() {
  const file = await newPath();
  const DATABASE_URL = `sqlite:${file}`;
  const create = async (label: string) => {
    const { stdout } = await runCommand(['keys', 'create', '--label', label], { DATABASE_URL });
    return { token: stdout.trim(), id: stdout.split('_')[1]! };
  };
  const [good, bad] = [await create('good'), await create('bad')];
  damage(file, `UPDATE api_keys SET scopes = 'secret' WHERE id = '${bad.id}'`);
  return { DATABASE_URL, good, bad };
}

it('a damaged API key is refused with 503, and the other keys stay valid', async () => {
  const { DATABASE_URL, good, bad } = await makeFileWithKeys();
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

it('a damaged API key is listed with the other keys, as text and as JSON, and show, revoke and rotate fail with an error that names it', async () => {
  const { DATABASE_URL, good, bad } = await makeFileWithKeys();

  const table = await runFailing(['keys', 'list'], { DATABASE_URL });
  expect(table.stderr).toBe(`petstore: read from ${DATABASE_URL}\n${damagedKeyLine(bad.id)}`);
  expect(table.stdout).toMatch(new RegExp(`^${bad.id}  damaged$`, 'm'));
  expect(table.stdout).toMatch(new RegExp(`^${good.id}  active .* good$`, 'm'));

  const json = await runFailing(['keys', 'list', '--json'], { DATABASE_URL });
  expect(JSON.parse(json.stdout)).toContainEqual({ id: bad.id, state: 'damaged' });
  expect(JSON.parse(json.stdout)).toHaveLength(2);

  for (const command of ['show', 'revoke', 'rotate']) {
    const program = await runFailing(['keys', command, bad.id], { DATABASE_URL });
    expect([program.stdout, program.stderr]).toStrictEqual(['', damagedKeyLine(bad.id)]);
  }
});
