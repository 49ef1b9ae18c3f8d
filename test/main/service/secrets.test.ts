import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { ask, connect } from '../../support/client.ts';
import { Command } from '../../support/command.ts';
import { DONE, type Program, runService, stop } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

const API_KEY = 'hunter2-hunter2-hunter2';
const PASSWORD = 'correct-horse-battery';

/** Sends the key in every place where it does not belong, and in forms that are not valid. */
async function misuse(url: string, key: string): Promise<void> {
  const body = JSON.stringify({ name: 'Rex', categoryId: 1 });
  await Promise.all([
    ask(`${url}/v1/pets`, { key: `${key}x` }),
    ask(`${url}/v1/pets`, { key: key.toUpperCase() }),
    ask(`${url}/v1/pets`, { key: `${key} ${key}` }),
    ask(`${url}/v1/pets`, { key: '', headers: { authorization: `Basic ${key}` } }),
    ask(`${url}/v1/pets?key=${key}`, { key }),
    ask(`${url}/v1/pets?cursor=${key}`, { key }),
    ask(`${url}/v1/pets/${key}`, { key }),
    ask(`${url}/${key}`, { key }),
    ask(`${url}/v1/pets`, { key, body: JSON.stringify({ name: key, categoryId: 1 }) }),
    ask(`${url}/v1/pets`, { key, body: `{"${key}` }),
    ask(`${url}/v1/pets`, { key, body, headers: { 'idempotency-key': key } }),
    ask(`${url}/v1/pets`, { key, body, headers: { 'content-type': key } }),
    ask(`${url}/v1/pets`, { key, headers: { 'user-agent': key, cookie: key, origin: key } }),
  ]);
  const connection = await connect(url);
  await connection.send(`${key} ${key} ${key}\r\n\r\n`);
  expect((await connection.next())?.status).toBe(400);
  connection.close();
}

it('the service prints a new key once, and never prints a key of API_KEYS', async () => {
  const directory = await testDirectory();
  const file = join(directory, 'petstore.db');
  const env = { DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'trace' };
  const programs: Pick<Program, 'stdout' | 'stderr'>[] = [];
  const shown: string[] = [];
  const petstore = async (args: readonly string[]) => {
    const command = new Command(args, env);
    programs.push(command);
    await command.ended;
    return command;
  };
  const makeKey = async (...args: readonly string[]) => {
    const { stdout } = await petstore(['keys', ...args]);
    shown.push(stdout);
    return stdout.trim();
  };

  const starting = runService(env);
  programs.push(starting);
  const [, made = ''] = await starting.printed(/Bearer (\S+)'/, 'stderr');
  await misuse(await starting.url(), made);
  await stop(starting);

  const service = runService({ ...env, API_KEYS: `env=${API_KEY}`, RATE_LIMIT: '100/1s' });
  programs.push(service);
  const url = await service.url();
  const key = await makeKey('create', '--label', 'till', '--scopes', 'pets:read');
  const next = await makeKey('rotate', key.split('_')[1]!);
  await Promise.all([
    petstore(['keys', 'list', '--json']),
    petstore(['keys', 'show', next.split('_')[1]!]),
    ...['show', 'revoke', 'rotate', next].map((command) => petstore(['keys', command, key])),
    petstore(['keys', 'create', '--label', 'x', '--scopes', key]),
    petstore(['keys', 'create', '--label', 'x', `--${key}`]),
    petstore(['export', `${directory}/pets.ndjson`]),
  ]);
  await petstore(['keys', 'revoke', key.split('_')[1]!, '--json']);
  for (const one of [API_KEY, key, next]) await misuse(url, one);

  // The log of a storage failure (503) and of a bug (500).
  await rename(file, `${file}-moved`);
  const body = '{"name":"Rex","categoryId":1}';
  expect((await ask(`${url}/v1/pets`, { key: API_KEY, body })).status).toBe(503);
  await rename(`${file}-moved`, file);
  const other = new DatabaseSync(file);
  other.exec('ALTER TABLE pets RENAME TO lost');
  expect((await ask(`${url}/v1/pets`, { key: API_KEY })).status).toBe(500);
  other.close();
  await stop(service);

  const printed = programs.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  const secrets = [key, next].map((one) => one.split('_')[2]!);
  for (const text of shown) expect(printed.split(text)).toHaveLength(2);
  for (const secret of secrets) expect(printed.split(secret)).toHaveLength(2);
  // Once, in the command to paste.
  expect(printed.split(made.split('_')[2]!)).toHaveLength(2);
  expect(printed).not.toContain(API_KEY);
  // The programs did log what they did.
  expect(printed).toContain('"msg":"failure"');
  expect(printed).toContain('"audit":"key.revoked"');
});

it('the service prints no secret of its environment when it cannot start', async () => {
  const urls = [
    `mongodb://me:${PASSWORD}@127.0.0.1:1/petstore?serverSelectionTimeoutMS=1`,
    `mongodb://me:${PASSWORD}@/petstore`,
    `postgres://me:${PASSWORD}@127.0.0.1/petstore`,
    `sqlite://me:${PASSWORD}@127.0.0.1/petstore`,
  ];
  const commands = urls.flatMap((DATABASE_URL) => [
    new Command(['keys', 'list'], { DATABASE_URL }),
    new Command(['migrate'], { DATABASE_URL, API_KEYS: `${API_KEY},${API_KEY}` }),
  ]);
  const service = runService({ DATABASE_URL: urls[0]!, API_KEYS: API_KEY });
  for (const program of [...commands, service]) {
    expect(await program.ended).not.toBeOneOf([0, DONE]);
    expect(program.stderr).toMatch(/^petstore: /);
    expect(program.stdout).toBe('');
    for (const secret of [API_KEY, PASSWORD]) expect(program.stderr).not.toContain(secret);
  }
});
