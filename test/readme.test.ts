import { glob, readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { describeVariables } from '../src/main/config/variables.ts';
import { succeeds } from './support/command.ts';
import { type Block, blocksOf, readDocument } from './support/document.ts';
import { freshDatabase } from './support/mongo-database.ts';
import { mongo } from './support/shared-mongo.ts';
import { type Program, ROOT, run } from './support/process.ts';
import { testDirectory } from './support/test-directory.ts';

const readme = await readDocument('README.md');
const blocks = blocksOf(readme);

function commands(section: string): readonly Block[] {
  return blocks.filter((block) => block.section === section && block.language === 'sh');
}

/** Runs a command from the README unchanged, in the root of the project. */
function bash(command: string, env: Record<string, string> = {}): Program {
  return run('bash', ['-euo', 'pipefail', '-c', command], env);
}

/** Runs the service on a free port. npm forwards the signal that ends it. */
async function startWith(command: string, env: Record<string, string>) {
  const program = bash(`exec ${command.trim()}`, { PORT: '0', ...env });
  onTestFinished(async () => {
    program.signal('SIGTERM');
    await program.ended;
  });
  const [line] = await program.printed(/^ {2}curl .*$/m, 'stderr');
  const [, KEY = '', URL = ''] = /Bearer (\S+)' '(\S+)\/pets'/.exec(line) ?? [];
  return { line, env: { KEY, URL } };
}

/** Runs commands that must succeed. Resolves with what they printed. */
async function printedBy(lines: string, env: Record<string, string> = {}): Promise<string> {
  return bash(lines, env).succeeded();
}

/** Takes the tour and compares its output with the README. */
async function takeTour(env: Record<string, string>): Promise<void> {
  const tour = blocks.filter(({ section }) => section === 'A tour');
  const steps = tour.filter(({ language, text }) => language === 'sh' && !text.startsWith('export '));
  const expected = tour.filter(({ language }) => language !== 'sh').map(({ text }) => text);
  expect(await printedBy(steps.map(({ text }) => text).join('\n'), env)).toBe(expected.join(''));
}

/** Adds the animals again: until the rate limit ends it, and with a wrong key. */
async function addAnimalsAgain(env: Record<string, string>): Promise<void> {
  const animals = (await readDocument('examples/pets.ndjson')).split('\n');
  for (const KEY of [env['KEY']!, 'wrong']) {
    const program = bash('bash examples/add-animals.sh', { ...env, KEY });
    expect(await program.ended).toStrictEqual({ code: 22, signal: null });
    const [, before] = /^added 0 animals; (\d+) were there before\n$/.exec(program.stdout) ?? [];
    expect(Number(before) > 0).toBe(KEY !== 'wrong');
    expect(program.stderr).toContain(`failed: ${animals[Number(before)]}\n`);
  }
}

/** Creates, lists, rotates and revokes keys while the service runs. */
async function manageKeys(url: string, DATABASE_URL: string): Promise<void> {
  const steps = commands('Keys').map(({ text }) => text);
  const printed = await printedBy([...steps, 'echo "$key $new_key"'].join('\n'), { DATABASE_URL });
  const operations = await readDocument('docs/operations.md');
  const form = new RegExp(/`\\b(pets_.*)\\b`/.exec(operations)![1]!, 'g');
  const [key, newKey] = printed.match(form) ?? [];
  expect(printed).toMatch(
    new RegExp(
      `^ID .*\n${key!.split('_')[1]}  active  pets:read,pets:write .* till-3\n` +
        `the key ${key!.split('_')[1]} is revoked; .*\n${key} ${newKey}\n$`,
    ),
  );
  const statuses = [key, newKey].map(async (one) => {
    const { status } = await fetch(`${url}/pets`, { headers: { authorization: `Bearer ${one}` } });
    return status;
  });
  expect(await Promise.all(statuses)).toStrictEqual([401, 200]);
}

it('README opens with the command that starts the service, and has the tests after the tour', () => {
  const [start] = blocks;
  const [tests] = commands('Tests');
  expect([start!.text, tests!.text]).toStrictEqual([
    'npm ci --omit=dev && npm start\n',
    'npm ci && npm test\n',
  ]);
});

it('README starts a service with its first command, and uses it: a request to paste, the tour, keys', async () => {
  const DATABASE_URL = `sqlite:${await testDirectory()}/petstore.db`;
  // `npm ci` would remove the packages that this test runs on.
  const start = commands('Petstore')[0]!.text.replace('npm ci --omit=dev && ', '');
  // Enough for the tour, and not for all animals a second time.
  const { line, env } = await startWith(start, { DATABASE_URL, RATE_LIMIT: '400/1h' });
  expect(await printedBy(line)).toBe('[]');
  await takeTour(env);
  await addAnimalsAgain(env);
  await manageKeys(env.URL, DATABASE_URL);
});

it('README starts a service with MongoDB', async ({ skip }) => {
  skip(mongo === undefined, 'no MongoDB');
  const [setup] = commands('Storage');
  const [, migrate = '', start = ''] = setup!.text.trim().split('\n');
  const { url: DATABASE_URL } = await freshDatabase(mongo!, { migrated: false });
  await printedBy(migrate, { DATABASE_URL });
  const { line } = await startWith(start, { DATABASE_URL });
  expect(await printedBy(line)).toBe('[]');
});

it('README moves and backs up pets', async ({ skip }) => {
  skip(mongo === undefined, 'no MongoDB');
  const { url } = await freshDatabase(mongo!, { migrated: false });
  const directory = await testDirectory();
  const DATABASE_URL = `sqlite:${directory}/petstore.db`;
  const moves = commands('Moving pets and backups')
    .map(({ text }) => text)
    .join('')
    .replaceAll('sqlite:./data/petstore.db', DATABASE_URL)
    .replaceAll('sqlite:./data/', `sqlite:${directory}/`)
    .replaceAll('mongodb://127.0.0.1:27017/petstore', `'${url}'`)
    .replaceAll(/ (pets\.ndjson|petstore-backup\.db)( |$)/gm, ` ${directory}/$1$2`);
  await succeeds(['import', 'examples/pets.ndjson'], { DATABASE_URL });
  const printed = await printedBy(moves, { DATABASE_URL });
  expect(printed).toContain('imported 300 pets\n');
  expect(printed).toContain('copied 300 pets\n');
  const examples = await readDocument('examples/pets.ndjson');
  expect(await readFile(`${directory}/pets.ndjson`, 'utf8')).toBe(examples);
  for (const file of ['petstore-backup.db', 'second.db']) {
    const { stdout } = await succeeds(['export', '--from', `sqlite:${directory}/${file}`]);
    expect(stdout).toBe(examples);
  }
});

it('README has the variables of --help, with the same defaults', () => {
  const [, section = ''] = readme.split(/^## Variables$/m);
  const rows = section.matchAll(/^\| `([A-Z_]+)` \| `?([^`|]+?)`? \|/gm);
  const help = describeVariables().matchAll(/^ {2}(\S+) +(\S+) /gm);
  const pairs = (matches: Iterable<RegExpMatchArray>) =>
    Array.from(matches, ([, name, initial]) => [name, initial]);
  expect(pairs(rows)).toStrictEqual(pairs(help));
});

it('README has .env.example beside it, with the lines of --help', async () => {
  const lines = describeVariables().matchAll(/^ {2}(\S+) +(\S+) +(.+)$/gm);
  const expected = Array.from(lines, ([, name, initial, meaning]) => {
    return `# ${meaning}\n#${name}=${initial === 'none' ? '' : initial}\n`;
  });
  const example = await readDocument('.env.example');
  expect(example.slice(example.indexOf('\n\n') + 2)).toBe(expected.join('\n'));
});

it('README has all commands of the documents, in the sections that the tests above run', async () => {
  const others = Array.fromAsync(glob(['CONTRIBUTING.md', 'SECURITY.md', 'docs/*.md'], { cwd: ROOT }));
  // The tests in test/operations, and npm run test:clients, run the commands of these.
  const elsewhere = ['docs/operations.md', 'docs/clients.md'];
  const paths = (await others).filter((path) => !elsewhere.includes(path));
  const documents = paths.map(readDocument);
  const sections = [readme, ...(await Promise.all(documents))]
    .flatMap(blocksOf)
    .filter(({ language }) => language === 'sh')
    .map(({ section }) => section);
  const executed = ['Petstore', 'A tour', 'Tests', 'Keys', 'Storage', 'Moving pets and backups'];
  expect([...new Set(sections)]).toStrictEqual(executed);
});
