import { execFile } from 'node:child_process';
import { cp, glob, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const run = promisify(execFile);

const SOURCES = (await Array.fromAsync(glob('src/**/*.ts', { cwd: ROOT }))).toSorted();
const ADAPTERS = (await readdir(join(ROOT, 'src/adapters'))).map((name) => `src/adapters/${name}`);
const ROOMS = ['operations', 'middleware', 'openapi', 'wire', 'server'];
const LAYERS = [
  'src/domain',
  ...['pets', 'keys', 'moving', 'storage', 'ports'].map((subject) => `src/application/${subject}`),
  ...ADAPTERS,
  ...ROOMS.map((room) => `src/adapters/http/${room}`),
  'src/main',
  ...['config', 'program', 'service', 'command-line', 'log', 'tracing'].map((folder) => `src/main/${folder}`),
];

/** What a file in a folder may import and may not, and the beginning of what the linter then says. */
type Boundary = { folder: string; message: string; refused: string[]; allowed: string[] };

const BOUNDARIES: Boundary[] = [
  {
    folder: 'src/domain',
    message: 'The domain imports nothing but itself',
    refused: [
      'koa',
      'tsyringe',
      'node:crypto',
      '../application/errors.ts',
      '../adapters/memory/pets.ts',
      '../main/main.ts',
      '../../test/support/mongodb.ts',
    ],
    allowed: ['./pet.ts'],
  },
  // A subject that does not exist yet is held to the same rule.
  ...['pets', 'ports', 'later'].map(
    (subject): Boundary => ({
      folder: `src/application/${subject}`,
      message: 'The application imports itself and the domain only',
      refused: [
        'koa',
        'tsyringe',
        'node:crypto',
        '../../adapters/memory/pets.ts',
        '../../main/main.ts',
        '../../../test/support/mongodb.ts',
      ],
      allowed: ['./own.ts', '../ports/pet-repository.ts', '../keys/errors.ts', '../../domain/pet.ts'],
    }),
  ),
  // An adapter that does not exist yet is held to the same rule, and so are folders inside of one.
  ...[...ADAPTERS, 'src/adapters/later'].flatMap((folder): Boundary[] => [
    {
      folder,
      message:
        'An adapter imports the application, the domain, adapters/json, adapters/files, adapters/round-trips,',
      refused: [
        '../other/pets.ts',
        '../../main/main.ts',
        '../../../test/support/mongodb.ts',
        'tsyringe',
        'reflect-metadata',
      ],
      allowed: [
        'koa',
        'node:crypto',
        './own.ts',
        './deeper/own.ts',
        '../json/exact-json.ts',
        '../files/durable-files.ts',
        '../round-trips/batcher.ts',
        '../../domain/pet.ts',
        '../../application/ports/pet-repository.ts',
      ],
    },
    {
      folder: `${folder}/deeper`,
      message:
        'An adapter imports the application, the domain, adapters/json, adapters/files, adapters/round-trips,',
      refused: ['../../other/pets.ts', '../../../main/main.ts', 'tsyringe', 'reflect-metadata'],
      allowed: [
        'koa',
        '../own.ts',
        '../../json/exact-json.ts',
        '../../files/durable-files.ts',
        '../../round-trips/batcher.ts',
        '../../../domain/pet.ts',
      ],
    },
  ]),
  // The rooms of the HTTP adapter, each with what it may import of the others.
  ...Object.entries<string[]>({
    wire: [],
    openapi: ['wire/its.ts'],
    server: ['wire/its.ts'],
    middleware: ['wire/its.ts'],
    operations: ['wire/its.ts', 'middleware/its.ts', 'openapi/its.ts'],
  }).map(
    ([room, known]): Boundary => ({
      folder: `src/adapters/http/${room}`,
      message: 'no other room of the HTTP adapter',
      refused: [
        '../app.ts',
        ...ROOMS.map((other) => `${other}/its.ts`)
          .filter((other) => other !== `${room}/its.ts` && !known.includes(other))
          .map((other) => `../${other}`),
        '../../memory/pets.ts',
        '../../../main/main.ts',
        'tsyringe',
      ],
      allowed: [
        'koa',
        './own.ts',
        ...known.map((other) => `../${other}`),
        '../../json/exact-json.ts',
        '../../../application/pets/list-pets.ts',
      ],
    }),
  ),
  {
    folder: 'src/main',
    message: 'Nothing in src imports from outside src',
    refused: ['../../test/support/mongodb.ts', '../../bench/run.ts'],
    allowed: ['tsyringe', './config.ts', '../adapters/memory/pets.ts', '../../package.json'],
  },
  {
    folder: 'src/main/deeper',
    message: 'Nothing in src imports from outside src',
    refused: ['../../../test/support/mongodb.ts', '../../../bench/run.ts'],
    allowed: ['tsyringe', '../config.ts', '../../adapters/memory/pets.ts', '../../../package.json'],
  },
  ...['service', 'command-line'].map(
    (room): Boundary => ({
      folder: `src/main/${room}`,
      message: 'The service and the commands import neither each other nor main.ts',
      refused: ['../command-line/run.ts', '../service/serve.ts', '../main.ts', '../../../bench/run.ts'],
      allowed: ['./own.ts', '../program/compose.ts', '../../../package.json'],
    }),
  ),
  {
    folder: 'test',
    message: 'Only src/main knows the container',
    refused: ['tsyringe', 'reflect-metadata'],
    allowed: ['koa', '../src/main/main.ts', '../src/domain/pet.ts'],
  },
];

/** The ways to import a module. */
const FORMS = [
  (specifier: string) => `import { it } from '${specifier}';\nit();\n`,
  (specifier: string) => `import type { It } from '${specifier}';\nexport type Its = It[];\n`,
  (specifier: string) => `export { it } from '${specifier}';\n`,
  (specifier: string) => `export const it = await import('${specifier}');\n`,
];

const RULES = [
  'eslint(max-lines)',
  'eslint(max-lines-per-function)',
  'eslint(no-restricted-globals)',
  'eslint(no-restricted-imports)',
  'node(no-process-env)',
];

const findings = await lintSamples();

test.each(BOUNDARIES)('the linter guards what $folder imports', ({ folder, message, refused, allowed }) => {
  for (const sample of refused.flatMap((specifier) => samplePaths(folder, specifier))) {
    expect(findings.get(sample), sample).toEqual([expect.stringContaining(message)]);
  }
  for (const sample of allowed.flatMap((specifier) => samplePaths(folder, specifier))) {
    expect(findings.get(sample), sample).toBeUndefined();
  }
});

test('the linter keeps the platform out of the core, and the environment out of all but main', () => {
  expect(findings.get('src/domain/platform.ts')).toHaveLength(2);
  expect(findings.get('src/application/platform.ts')).toHaveLength(2);
  expect(findings.get('src/adapters/later/platform.ts')).toHaveLength(1);
  expect(findings.get('src/main/platform.ts')).toBeUndefined();
});

test('the linter refuses a long file and a long function', () => {
  for (const long of ['src/main/long.ts', 'src/main/long-function.ts']) {
    expect(findings.get(long), long).toEqual([expect.stringContaining('too many lines')]);
  }
});

test('the sources obey these rules', async () => {
  expect(await lint(ROOT, 'src')).toEqual(new Map());
});

test.each(LAYERS)('%s is not empty', (layer) => {
  expect(SOURCES.filter((path) => dirname(path) === layer)).not.toEqual([]);
});

test('every source file is in a layer', () => {
  expect(SOURCES.filter((path) => !LAYERS.some((layer) => path.startsWith(`${layer}/`)))).toEqual([]);
});

test('no folder imports another one that imports it, directly or through others', async () => {
  const left = new Map(SOURCES.map((path) => [dirname(path), new Set<string>()]));
  for (const path of SOURCES) {
    const specifiers = (await readFile(join(ROOT, path), 'utf8')).matchAll(/(?:from |import\()'(\.[^']+)'/g);
    for (const [, to = ''] of specifiers) left.get(dirname(path))!.add(dirname(join(dirname(path), to)));
  }
  // Takes away the folders that import nothing of what is left. What then stays is in a cycle, or imports one.
  const lowest = () => [...left].find(([own, to]) => ![...to].some((it) => it !== own && left.has(it)));
  for (let found = lowest(); found !== undefined; found = lowest()) left.delete(found[0]);
  expect([...left.keys()]).toStrictEqual([]);
});

test('there is no decorator and no enum', async () => {
  for (const path of SOURCES) {
    const source = await readFile(join(ROOT, path), 'utf8');
    expect(source, path).not.toMatch(/^\s*@\w/m);
    expect(source, path).not.toMatch(/^\s*(export )?(declare )?(const )?enum /m);
  }
});

test('every error says whose fault it is, except those that are caught or answered by their class', async () => {
  const silent = new Set<unknown>();
  for (const path of SOURCES) {
    const source = await readFile(join(ROOT, path), 'utf8');
    for (const [text, name] of source.matchAll(/^(?:export )?class (\w+) extends Error \{.*?\}$/gms)) {
      if (!/ readonly fault = '(client|operator|storage)';$/m.test(text)) silent.add(name);
    }
  }
  expect(silent).toEqual(new Set(['Interrupted', 'RequestRefused', 'Undecompressible']));
});

test('importing a module opens nothing, listens to nothing and prints nothing', async () => {
  const modules = SOURCES.filter((path) => path !== 'src/main/main.ts').map((path) => join(ROOT, path));
  const script = `
    // Opened by the first look at them. The parser of the command line imports node:process, which looks at all three.
    const { stdin, stdout, stderr } = process;
    const state = () => ({ resources: process.getActiveResourcesInfo(), listeners: process.eventNames() });
    const before = state();
    for (const module of ${JSON.stringify(modules)}) await import(module);
    console.log(JSON.stringify(before), JSON.stringify(state()));
  `;
  // Ends by itself, or is killed and rejects.
  const node = run(process.execPath, ['--input-type=module', '--eval', script]);
  const { stdout, stderr } = await node;
  const [before, after] = stdout.trimEnd().split(' ');
  expect(after).toBe(before);
  expect(stderr).toBe('');
});

function samplePaths(folder: string, specifier: string): string[] {
  return [...FORMS.keys()].map((form) => `${folder}/${specifier.replaceAll(/[^a-z]+/g, '-')}-${form}.ts`);
}

/** Runs the project's own configuration over a tree of small files. */
async function lintSamples(): Promise<Map<string, string[]>> {
  const tree = await mkdtemp(join(tmpdir(), 'petstore-architecture-'));
  const write = async (path: string, source: string): Promise<void> => {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), source);
  };
  try {
    for (const file of ['.oxlintrc.json', 'tsconfig.json']) await cp(join(ROOT, file), join(tree, file));
    for (const { folder, refused, allowed } of BOUNDARIES) {
      for (const specifier of [...refused, ...allowed]) {
        const paths = samplePaths(folder, specifier);
        for (const [form, source] of FORMS.entries()) await write(paths[form] ?? '', source(specifier));
      }
    }
    for (const folder of ['src/domain', 'src/application', 'src/adapters/later', 'src/main']) {
      await write(`${folder}/platform.ts`, 'export const home = process.env["HOME"];\n');
    }
    await write('src/main/long.ts', 'export {};\n'.repeat(251));
    await write('src/main/long-function.ts', `export function long() {\n${'  void 0;\n'.repeat(70)}}\n`);
    return await lint(tree, '.');
  } finally {
    await rm(tree, { recursive: true });
  }
}

/** What the linter says about {@link RULES}, by file. */
async function lint(cwd: string, path: string): Promise<Map<string, string[]>> {
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const options = { cwd, maxBuffer: 2 ** 26 };
  // It exits with 1 when it has found something.
  const { stdout } = await run(process.execPath, [oxlint, '--format=json', path], options).catch(
    (error: { stdout: string }) => error,
  );
  const found = new Map<string, string[]>();
  for (const { code, filename, message, help } of JSON.parse(stdout).diagnostics) {
    if (RULES.includes(code)) found.set(filename, [...(found.get(filename) ?? []), `${message} ${help}`]);
  }
  return found;
}
