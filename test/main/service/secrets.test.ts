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

/** Sends the key in wrong places of requests, and in invalid forms. */
async function misuseKey(url: string, key: string): Promise<void> {
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
  const printedKeys: string[] = [];
  const runPetstore = async (args: readonly string[]) => {
    const command = new Command(args, env);
    programs.push(command);
    await command.ended;
    return command;
  };
  const makeKey = async (...args: readonly string[]) => {
    const { stdout } = await runPetstore(['keys', ...args]);
    printedKeys.push(stdout);
    return stdout.trim();
  };

  const firstService = runService(env);
  programs.push(firstService);
  const [, startKey = ''] = await firstService.printed(/Bearer (\S+)'/, 'stderr');
  await misuseKey(await firstService.url(), startKey);
  await stop(firstService);

  const service = runService({ ...env, API_KEYS: `env=${API_KEY}`, RATE_LIMIT: '100/1s' });
  programs.push(service);
  const url = await service.url();
  const key = await makeKey('create', '--label', 'till', '--scopes', 'pets:read');
  const rotatedKey = await makeKey('rotate', key.split('_')[1]!);
  await Promise.all([
    runPetstore(['keys', 'list', '--json']),
    runPetstore(['keys', 'show', rotatedKey.split('_')[1]!]),
    ...['show', 'revoke', 'rotate', rotatedKey].map((command) => runPetstore(['keys', command, key])),
    runPetstore(['keys', 'create', '--label', 'x', '--scopes', key]),
    runPetstore(['keys', 'create', '--label', 'x', `--${key}`]),
    runPetstore(['export', `${directory}/pets.ndjson`]),
  ]);
  await runPetstore(['keys', 'revoke', key.split('_')[1]!, '--json']);
  for (const keyText of [API_KEY, key, rotatedKey]) await misuseKey(url, keyText);

  // The service logs a storage failure (503) and a bug (500).
  await rename(file, `${file}-moved`);
  const body = '{"name":"Rex","categoryId":1}';
  expect((await ask(`${url}/v1/pets`, { key: API_KEY, body })).status).toBe(503);
  await rename(`${file}-moved`, file);
  const database = new DatabaseSync(file);
  database.exec('ALTER TABLE pets RENAME TO lost');
  expect((await ask(`${url}/v1/pets`, { key: API_KEY })).status).toBe(500);
  database.close();
  await stop(service);

  const allOutput = programs.map(({ stdout, stderr }) => stdout + stderr).join('\n');
  const secrets = [key, rotatedKey].map((keyText) => keyText.split('_')[2]!);
  // A text that is printed once splits the output into two parts.
  for (const text of printedKeys) expect(allOutput.split(text)).toHaveLength(2);
  for (const secret of secrets) expect(allOutput.split(secret)).toHaveLength(2);
  // The key that the first service made is printed once, in its curl command.
  expect(allOutput.split(startKey.split('_')[2]!)).toHaveLength(2);
  expect(allOutput).not.toContain(API_KEY);
  // These lines show that `allOutput` has the logs.
  expect(allOutput).toContain('"msg":"failure"');
  expect(allOutput).toContain('"audit":"key.revoked"');
});

it('the service and its commands print no secret of their environment when they fail', async () => {
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
