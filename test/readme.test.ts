import { expect, it } from 'vitest';
import { STORAGES } from '../src/main/config/storages.ts';
import { variables } from '../src/main/config/variables.ts';
import { type Block, blocksOf, readDocument, tableOf } from './support/document.ts';
import { DONE, run } from './support/process.ts';
import { freshClone, Shell } from './support/shell.ts';

const readme = await readDocument('README.md');
const blocks = blocksOf(readme);
const VARIABLES = Object.values(variables(STORAGES));

function commands(section: string): readonly Block[] {
  return blocks.filter((block) => block.section === section && block.language === 'sh');
}

/** Returns the output that the README shows in a section. */
function shown(section: string): string {
  const outputs = blocks.filter((block) => block.section === section && block.language !== 'sh');
  return outputs.map(({ text }) => text).join('');
}

/** Runs the script that adds animals twice: until the rate limit stops it, and with a wrong key. */
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

it('README opens with the command that starts the service and the command that runs all tests', () => {
  expect(blocks.filter(({ language }) => language === 'sh').slice(0, 2)).toMatchObject([
    { text: 'npm ci --omit=dev && npm start\n' },
    { text: 'npm ci && npm test\n' },
  ]);
});

it('the commands of README work from top to bottom in one shell, and print what it shows', async () => {
  const directory = await freshClone();
  const shell = new Shell(directory);
  const line = await shell.starts(commands('Run it')[0]!.text);
  const [, KEY = '', URL = ''] = /Bearer (\S+)' '(\S+)\/pets'/.exec(line) ?? [];
  expect(line.replace(KEY, 'pets_…').replace(URL, 'http://127.0.0.1:3000/v1')).toBe(shown('Run it'));
  expect(await shell.prints(line)).toBe('[]');

  const tour = commands('A tour').map(({ text }) => text);
  const script = tour
    .join('')
    .replace('http://127.0.0.1:3000/v1', URL)
    .replace('the-key-that-was-printed', KEY);
  expect(await shell.prints(script)).toBe(shown('A tour'));
  await addAnimalsAgain({ URL, KEY });

  shell.program.write('exit\n');
  expect(await shell.program.ended).toStrictEqual(DONE);

  // After the next start, the service has the same animals and a new key.
  const next = new Shell(directory);
  const [, newKey = '', again = ''] = /Bearer (\S+)' '(\S+)\/pets'/.exec(await next.starts('npm start\n'))!;
  const answers = [KEY, newKey].map((key) =>
    fetch(`${again}/pets?limit=1`, { headers: { authorization: `Bearer ${key}` } }),
  );
  const [old, current] = await Promise.all(answers);
  expect(old!.status).toBe(401);
  expect(await current!.json()).toMatchObject([{ id: 1, name: 'Rex' }]);
  next.program.write('exit\n');
  expect(await next.program.ended).toStrictEqual(DONE);
});

it('docs/reference/variables.md has every variable with its default, and a valid example', async () => {
  const page = (await readDocument('docs/reference/variables.md')).replaceAll('`', '');
  const rows = tableOf(page, 'Variables of the service');
  const documented = rows.map(([name, initial]) => [name, initial]);
  expect(documented).toStrictEqual(VARIABLES.map(({ name, initial = 'none' }) => [name, initial]));
  for (const [index, { parse }] of VARIABLES.entries())
    expect(() => parse(rows[index]!.at(-1)!)).not.toThrow();
});

it('.env.example has every variable', async () => {
  const lines = VARIABLES.map(({ name, initial = '', help }) => `# ${help}\n#${name}=${initial}\n`);
  const example = await readDocument('.env.example');
  expect(example.slice(example.indexOf('\n\n') + 2)).toBe(lines.join('\n'));
});
