import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { STORAGES } from '../src/main/config/storages.ts';
import { variables } from '../src/main/config/variables.ts';
import { succeeds } from './support/command.ts';
import { type Block, blocksOf, readDocument } from './support/document.ts';
import { freshDatabase } from './support/mongo-database.ts';
import { mongo } from './support/shared-mongo.ts';
import { DONE, run } from './support/process.ts';
import { freshClone, Shell } from './support/shell.ts';

const readme = await readDocument('README.md');
const blocks = blocksOf(readme);
const VARIABLES = Object.values(variables(STORAGES));

function commands(section: string): readonly Block[] {
  return blocks.filter((block) => block.section === section && block.language === 'sh');
}

/** What the page shows as the output of the commands of a section. */
function shown(section: string): string {
  const outputs = blocks.filter((block) => block.section === section && block.language !== 'sh');
  return outputs.map(({ text }) => text).join('');
}

/** Adds the animals again: until the rate limit ends it, and with a wrong key. */
async function addAnimalsAgain(env: Record<string, string>): Promise<void> {
  const animals = (await readDocument('examples/pets.ndjson')).split('\n');
  for (const KEY of [env['KEY']!, 'wrong']) {
    const program = run('bash', ['examples/add-animals.sh'], { ...env, KEY });
    expect(await program.ended).toStrictEqual({ code: 22, signal: null });
    const [, before] = /^added 0 animals; (\d+) were there before\n$/.exec(program.stdout) ?? [];
    expect(Number(before) > 0).toBe(KEY !== 'wrong');
    expect(program.stderr).toContain(`failed: ${animals[Number(before)]}\n`);
  }
}

/** The answers to a request with each key. */
async function statusesOf(url: string, keys: readonly string[]): Promise<readonly number[]> {
  const headers = keys.map((key) => ({ authorization: `Bearer ${key}` }));
  return Promise.all(headers.map(async (one) => (await fetch(`${url}/pets`, { headers: one })).status));
}

it('README opens with the command that starts the service and the command that runs all tests', () => {
  expect(blocks.filter(({ language }) => language === 'sh').slice(0, 2)).toMatchObject([
    { text: 'npm ci --omit=dev && npm start\n' },
    { text: 'npm ci && npm test\n' },
  ]);
});

it('README works from top to bottom in one shell, and prints what it shows', async ({ skip }) => {
  const directory = await freshClone();
  const shell = new Shell(directory);
  const line = await shell.starts(commands('Petstore')[0]!.text);
  const [, KEY = '', URL = ''] = /Bearer (\S+)' '(\S+)\/pets'/.exec(line) ?? [];
  expect(line.replace(KEY, 'pets_…').replace(URL, 'http://127.0.0.1:3000/v1')).toBe(shown('Petstore'));
  expect(await shell.prints(line)).toBe('[]');

  const tour = commands('A tour').map(({ text }) => text);
  const given = tour
    .join('')
    .replace('http://127.0.0.1:3000/v1', URL)
    .replace('the-key-that-was-printed', KEY);
  expect(await shell.prints(given)).toBe(shown('A tour'));
  await addAnimalsAgain({ URL, KEY });

  const [manage, use] = commands('Keys');
  const managed = await shell.prints(`${manage!.text}echo "$key $new_key"`);
  const form = new RegExp(
    /`\\b(pets_.*)\\b`/.exec(await readDocument('docs/how-to/manage-keys.md'))![1]!,
    'g',
  );
  const [key = '', newKey = ''] = managed.match(form) ?? [];
  const id = key.split('_')[1]!;
  expect(managed).toMatch(
    new RegExp(
      `^ID .*\n${id}  active  pets:read,pets:write .* till-3\n` +
        `the key ${id} is revoked; .*\n${key} ${newKey}\n$`,
    ),
  );
  expect(await shell.prints(use!.text)).toBe(shown('Keys'));
  expect(await statusesOf(URL, [KEY, key, newKey])).toStrictEqual([429, 401, 200]);

  skip(mongo === undefined, 'no MongoDB');
  const { url } = await freshDatabase(mongo!, { migrated: false });
  const withMongo = (text: string) => text.replaceAll('mongodb://127.0.0.1:27017/petstore', `'${url}'`);
  const second = await shell.starts(withMongo(commands('Storage')[0]!.text));
  expect(await shell.prints(second)).toBe('[]');

  const moves = commands('Moving pets and backups').map(({ text }) => withMongo(text));
  expect(await shell.prints(moves.join(''))).toBe(shown('Moving pets and backups'));
  const [from, target] = ['sqlite:./data/petstore.db', url.split('?')[0]];
  expect(shell.program.stderr.match(/(?:read from|wrote to|exported) .*$/gm)?.slice(-6)).toStrictEqual([
    `read from ${from}`,
    'exported 303 pets',
    'wrote to sqlite:./data/second.db',
    `read from ${from}`,
    `wrote to ${target}`,
    `read from ${from}`,
  ]);
  const exported = await readFile(join(directory, 'pets.ndjson'), 'utf8');
  for (const file of ['petstore-backup.db', 'data/second.db']) {
    const { stdout } = await succeeds(['export', '--from', `sqlite:${directory}/${file}`]);
    expect(stdout).toBe(exported);
  }

  shell.program.write('exit\n');
  expect(await shell.program.ended).toStrictEqual(DONE);

  // Another day: the service prints no key, and the one of the page is valid.
  const service = run('bash', ['-c', 'exec npm start'], { PORT: '0' }, directory);
  const [, again = ''] = await service.printed(/"listening on (\S+) /);
  expect(await statusesOf(`${again}/v1`, [KEY, newKey])).toStrictEqual([401, 200]);
  service.signal('SIGINT');
  expect(await service.ended).toStrictEqual(DONE);
  expect(service.stderr).not.toContain('curl');
});

it('docs/reference/variables.md has every variable with its default', async () => {
  const page = await readDocument('docs/reference/variables.md');
  const documented = Array.from(
    page.matchAll(/^\| `([A-Z_]+)` \| `?([^`|]+?)`? \|/gm),
    ([, ...cells]) => cells,
  );
  expect(documented).toStrictEqual(VARIABLES.map(({ name, initial = 'none' }) => [name, initial]));
});

it('.env.example has every variable', async () => {
  const lines = VARIABLES.map(({ name, initial = '', help }) => `# ${help}\n#${name}=${initial}\n`);
  const example = await readDocument('.env.example');
  expect(example.slice(example.indexOf('\n\n') + 2)).toBe(lines.join('\n'));
});
