import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeVariables } from '../src/main/config/variables.ts';
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

/** What `npm start` runs, without npm. */
const PETSTORE = 'bin/petstore';

/** Runs a command from the README unchanged, in the root of the project. */
function bash(command: string, env: Record<string, string> = {}): Program {
  return run('bash', ['-euo', 'pipefail', '-c', command], env);
}

/** Runs the service on a free port with a new SQLite file. npm forwards the signal that ends it. */
async function startWith(command: string, env: Record<string, string> = {}): Promise<Program> {
  const DATABASE_URL = `sqlite:${await testDirectory()}/petstore.db`;
  const program = bash(`exec ${command.trim()}`, { PORT: '0', DATABASE_URL, ...env });
  onTestFinished(async () => {
    program.signal('SIGTERM');
    await program.ended;
  });
  return program;
}

async function startForTour(env: Record<string, string>): Promise<Record<string, string>> {
  const program = await startWith(PETSTORE, env);
  const [, KEY = '', URL = ''] = await program.printed(/Bearer (\S+)' '(\S+)\/pets'/, 'stderr');
  return { KEY, URL };
}

/** Takes the tour and compares its output with the README. */
async function takeTour(env: Record<string, string>): Promise<void> {
  const tour = blocks.filter(({ section }) => section === 'A tour');
  const steps = tour.filter(({ language, text }) => language === 'sh' && !text.startsWith('export '));
  const expected = tour.filter(({ language }) => language !== 'sh').map(({ text }) => text);
  const program = bash(steps.map(({ text }) => text).join('\n'), env);
  expect(await program.ended).toStrictEqual({ code: 0, signal: null });
  expect(program.stdout).toBe(expected.join(''));
}

describe('README', () => {
  it('opens with the command that starts the service, and has the tests after the tour', () => {
    const [start] = blocks;
    const [tests] = commands('Tests');
    expect([start!.text, tests!.text]).toStrictEqual(['npm ci && npm start\n', 'npm ci && npm test\n']);
  });

  it('starts the service with the first one, which prints a request that can be pasted', async () => {
    // `npm ci` would remove the packages that this test runs on.
    const program = await startWith(commands('Petstore')[0]!.text.replace('npm ci && ', ''));
    const [line] = await program.printed(/^ {2}curl .*$/m, 'stderr');
    const curl = bash(line);
    await curl.ended;
    expect(curl.stdout).toBe('[]');
  });

  it('takes its tour', async () => {
    await takeTour(await startForTour({}));
  });

  it('takes its tour with MongoDB', async ({ skip }) => {
    skip(mongo === undefined, 'no MongoDB');
    const [setup] = commands('Storage');
    const [, migrate = '', start = ''] = setup!.text.trim().split('\n');
    const { url: DATABASE_URL } = await freshDatabase(mongo!, { migrated: false });
    const migration = bash(migrate, { DATABASE_URL });
    expect(await migration.ended).toStrictEqual({ code: 0, signal: null });
    expect(start).toBe('npm start');
    await takeTour(await startForTour({ DATABASE_URL }));
  });

  it('adds animals with a program that says what it did, and where it stopped', async () => {
    const env = await startForTour({ RATE_LIMIT: '450/1h' });
    const add = async (more = {}) => {
      const program = bash('bash examples/add-animals.sh', { ...env, ...more });
      const { code } = await program.ended;
      const [, id] = /^failed: \{"id":(\d+),"name":/m.exec(program.stderr) ?? [];
      return [code, program.stdout, id];
    };
    expect(await add()).toStrictEqual([0, 'added 300 animals; 0 were there before\n', undefined]);
    expect(await add()).toStrictEqual([22, 'added 0 animals; 150 were there before\n', '154']);
    expect(await add({ KEY: 'wrong' })).toStrictEqual([22, 'added 0 animals; 0 were there before\n', '1']);
  });

  it('creates, lists, rotates and revokes keys while the service runs', async () => {
    const DATABASE_URL = `sqlite:${await testDirectory()}/petstore.db`;
    const service = await startWith(PETSTORE, { DATABASE_URL });
    const [, url = ''] = await service.printed(/Bearer \S+' '(\S+)'/, 'stderr');
    const steps = commands('Keys').map(({ text }) => text);
    const program = bash([...steps, 'echo "$key $new_key"'].join('\n'), { DATABASE_URL });
    expect(await program.ended, program.stderr).toStrictEqual({ code: 0, signal: null });
    const operations = await readDocument('docs/operations.md');
    const form = new RegExp(/`\\b(pets_.*)\\b`/.exec(operations)![1]!, 'g');
    const [key, newKey] = program.stdout.match(form) ?? [];
    expect(program.stdout).toMatch(
      new RegExp(
        `^ID .*\n${key!.split('_')[1]}  active  pets:read,pets:write .* till-3\n` +
          `the key ${key!.split('_')[1]} is revoked; .*\n${key} ${newKey}\n$`,
      ),
    );
    const statuses = [key, newKey].map(async (one) => {
      const { status } = await fetch(url, { headers: { authorization: `Bearer ${one}` } });
      return status;
    });
    expect(await Promise.all(statuses)).toStrictEqual([401, 200]);
  });

  it('moves and backs up pets', async ({ skip }) => {
    skip(mongo === undefined, 'no MongoDB');
    const { url } = await freshDatabase(mongo!, { migrated: false });
    const directory = await testDirectory();
    const DATABASE_URL = `sqlite:${directory}/petstore.db`;
    const moves = commands('Moving pets and backups')
      .map(({ text }) => text)
      .join('')
      .replaceAll('sqlite:./data/petstore.db', DATABASE_URL)
      .replaceAll('mongodb://127.0.0.1:27017/petstore', `'${url}'`)
      .replaceAll(/ (pets\.ndjson|petstore-backup\.db)$/gm, ` ${directory}/$1`);
    const program = bash(moves, { DATABASE_URL });
    expect(await program.ended, program.stderr).toStrictEqual({ code: 0, signal: null });
    expect(program.stdout).toContain('imported 300 pets\n');
    expect(program.stdout).toContain('copied 300 pets\n');
    const examples = await readFile(join(ROOT, 'examples/pets.ndjson'), 'utf8');
    expect(await readFile(`${directory}/pets.ndjson`, 'utf8')).toBe(examples);
    const restored = bash(`${PETSTORE} export --from sqlite:${directory}/petstore-backup.db`);
    expect(await restored.ended, restored.stderr).toStrictEqual({ code: 0, signal: null });
    expect(restored.stdout).toBe(examples);
  });

  it('has the variables of --help, with the same defaults', () => {
    const [, section = ''] = readme.split(/^## Variables$/m);
    const rows = section.matchAll(/^\| `([A-Z_]+)` \| `?([^`|]+?)`? \|/gm);
    const help = describeVariables().matchAll(/^ {2}(\S+) +(\S+) /gm);
    const pairs = (matches: Iterable<RegExpMatchArray>) =>
      Array.from(matches, ([, name, initial]) => [name, initial]);
    expect(pairs(rows)).toStrictEqual(pairs(help));
  });

  it('has .env.example beside it, with the lines of --help', async () => {
    const lines = describeVariables().matchAll(/^ {2}(\S+) +(\S+) +(.+)$/gm);
    const expected = Array.from(lines, ([, name, initial, meaning]) => {
      return `# ${meaning}\n#${name}=${initial === 'none' ? '' : initial}\n`;
    });
    const example = await readDocument('.env.example');
    expect(example.slice(example.indexOf('\n\n') + 2)).toBe(expected.join('\n'));
  });

  it('has all commands of the documents, in the sections that the tests above run', async () => {
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
});
