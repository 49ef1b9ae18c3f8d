import { execFile } from 'node:child_process';
import { glob, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT, run } from './support/process.ts';
import { temporaryDirectory } from './support/temporary-directory.ts';

const SOURCES = (await Array.fromAsync(glob('src/**/*.ts', { cwd: ROOT }))).toSorted();
const ADAPTERS = (await readdir(join(ROOT, 'src/adapters'))).map((name) => `src/adapters/${name}`);
/**
 * Which packages, and which files below the root, a file in a folder may import and may not, and the beginning of what
 * the linter then says.
 */
type Boundary = { folder: string; message: string; refused: string[]; allowed: string[] };

const CONTAINER = ['tsyringe', 'reflect-metadata'];
/** What the core does not know. */
const OF_ADAPTERS = ['koa', 'tsyringe', 'node:crypto', 'src/adapters/a.ts'];
const BEYOND_SRC = ['test/support/mongodb.ts', 'bench/run.ts'];
const MAIN_AND_BEYOND = ['src/main/main.ts', ...BEYOND_SRC];

/** The same boundary for a folder inside of the folder. */
const deeper = (boundary: Boundary): Boundary => ({ ...boundary, folder: `${boundary.folder}/deeper` });

// A subject and an adapter that do not exist yet are held to the same rules.
const subjects = ['pets', 'ports', 'later'].map((subject): Boundary => {
  const folder = `src/application/${subject}`;
  const core = ['src/application/ports/pet-repository.ts', 'src/application/keys/errors.ts'];
  return {
    folder,
    message: 'The application imports itself and the domain only',
    refused: [...OF_ADAPTERS, ...MAIN_AND_BEYOND],
    allowed: [`${folder}/own.ts`, ...core, 'src/domain/pet.ts'],
  };
});
const FOR_ADAPTERS = ['src/adapters/json/a.ts', 'src/domain/a.ts', 'src/application/ports/a.ts', 'koa'];
const adapters = [...ADAPTERS, 'src/adapters/later'].map((folder): Boundary => {
  return {
    folder,
    message: 'An adapter imports the application, the domain, adapters/json, adapters/files,',
    refused: ['src/adapters/other/pets.ts', ...MAIN_AND_BEYOND, ...CONTAINER],
    allowed: [...FOR_ADAPTERS, 'src/adapters/files/a.ts', 'node:crypto', `${folder}/own.ts`],
  };
});
const mainFolder: Boundary = {
  folder: 'src/main',
  message: 'Nothing in src imports from outside src',
  refused: BEYOND_SRC,
  allowed: ['tsyringe', 'src/main/config.ts', 'src/adapters/memory/pets.ts', 'package.json'],
};

/** The rooms of the HTTP adapter, each with what it may import of the others. */
const ROOMS: Record<string, string[]> = {
  contract: [],
  openapi: ['contract'],
  server: ['contract'],
  middleware: ['contract'],
  operations: ['contract', 'middleware', 'openapi'],
};
const HTTP = 'src/adapters/http';
const rooms = Object.entries(ROOMS).map(([room, known]): Boundary => {
  const unknown = Object.keys(ROOMS).filter((other) => other !== room && !known.includes(other));
  const fileOf = (other: string) => `${HTTP}/${other}/its.ts`;
  const others = [`${HTTP}/app.ts`, 'src/adapters/memory/pets.ts'];
  return {
    folder: `${HTTP}/${room}`,
    message: 'no other room of the HTTP adapter',
    refused: [...others, ...unknown.map(fileOf), ...MAIN_AND_BEYOND, ...CONTAINER],
    allowed: [...FOR_ADAPTERS, ...[room, ...known].map(fileOf)],
  };
});

const BOUNDARIES: Boundary[] = [
  {
    folder: 'src/domain',
    message: 'The domain imports nothing but itself',
    refused: [...OF_ADAPTERS, 'src/application/a.ts', ...MAIN_AND_BEYOND],
    allowed: ['src/domain/pet.ts'],
  },
  ...subjects,
  ...adapters.flatMap((adapter) => [adapter, deeper(adapter)]),
  ...rooms,
  mainFolder,
  deeper(mainFolder),
  ...[
    ['composition', 'src/main/service/serve.ts'],
    ['service', 'src/main/command-line/run.ts'],
    ['command-line', 'src/main/service/serve.ts'],
  ].map(([room, other = '']): Boundary => {
    return {
      folder: `src/main/${room}`,
      message: 'The composition, the service and the commands import neither what starts them nor main.ts',
      refused: [other, ...MAIN_AND_BEYOND],
      allowed: [`src/main/${room}/own.ts`, 'src/main/program/process.ts', 'package.json'],
    };
  }),
  {
    folder: 'test',
    message: 'Only src/main knows the container',
    refused: CONTAINER,
    allowed: ['koa', 'src/main/main.ts', 'src/domain/pet.ts'],
  },
];

/** All ways to import a package or a file, each on a line. */
function importLines(folder: string, targets: readonly string[]): string[] {
  return targets.flatMap((target, index) => {
    const isFile = /\.(ts|json)$/.test(target);
    const specifier = isFile ? `./${relative(folder, target)}`.replace('./..', '..') : target;
    return [
      `import { a${index} } from '${specifier}';`,
      `import type { B${index} } from '${specifier}';`,
      `export { c${index} } from '${specifier}';`,
      `export const d${index} = await import('${specifier}');`,
    ];
  });
}

const RULES = [
  'eslint(max-lines)',
  'eslint(max-lines-per-function)',
  'eslint(no-restricted-globals)',
  'eslint(no-restricted-imports)',
  'node(no-process-env)',
];

const findings = await lintSamples();

test.each(BOUNDARIES)('the linter guards what $folder imports', ({ folder, message, refused, allowed }) => {
  const found = findings.get(`${folder}/refused.ts`) ?? [];
  expect(found.map(({ line }) => line)).toEqual(importLines(folder, refused));
  for (const { text } of found) expect(text).toContain(message);
  expect(allowed).not.toEqual([]);
  expect(findings.get(`${folder}/allowed.ts`)).toBeUndefined();
});

test('the linter keeps the platform out of the core, and the environment out of all but main', () => {
  expect(findings.get('src/domain/platform.ts')).toHaveLength(2);
  expect(findings.get('src/application/platform.ts')).toHaveLength(2);
  expect(findings.get('src/adapters/later/platform.ts')).toHaveLength(1);
  expect(findings.get('src/main/platform.ts')).toBeUndefined();
});

test('the linter refuses a long file and a long function', () => {
  for (const long of ['src/main/long.ts', 'src/main/long-function.ts']) {
    expect(findings.get(long), long).toMatchObject([{ text: expect.stringContaining('too many lines') }]);
  }
});

test('every source file is in a folder of a layer', () => {
  expect(SOURCES.filter((path) => /^src\/(adapters\/)?[^/]+$/.test(path))).toEqual([]);
});

test('no folder imports another one that imports it, directly or through others', async () => {
  const left = new Map(SOURCES.map((path) => [dirname(path), new Set<string>()]));
  for (const path of SOURCES) {
    const specifiers = (await readFile(join(ROOT, path), 'utf8')).matchAll(/(?:from |import\()'(\.[^']+)'/g);
    for (const [, to = ''] of specifiers) left.get(dirname(path))!.add(dirname(join(dirname(path), to)));
  }
  // Takes away the folders that import nothing of what is left. What then stays is in a cycle, or imports one.
  const lowest = () =>
    [...left].find(([own, to]) => ![...to].some((folder) => folder !== own && left.has(folder)));
  for (let found = lowest(); found !== undefined; found = lowest()) left.delete(found[0]);
  expect([...left.keys()]).toStrictEqual([]);
});

test('every error says whose fault it is, except those that are caught or answered by their class', async () => {
  const silent = new Set<unknown>();
  for (const path of SOURCES) {
    const source = await readFile(join(ROOT, path), 'utf8');
    for (const [text, name] of source.matchAll(/^(?:export )?class (\w+) extends Error \{.*?\}$/gms)) {
      if (!/ readonly fault = '(client|operator|storage)';$/m.test(text)) silent.add(name);
    }
  }
  expect(silent).toEqual(new Set(['Interrupted', 'Refused', 'RequestRefused']));
});

// Node refuses a module with a decorator or an enum.
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
  // Ends by itself, or is killed.
  const node = run(process.execPath, ['--input-type=module', '--eval', script]);
  const [before, after] = (await node.succeeded()).trimEnd().split(' ');
  expect(after).toBe(before);
  expect(node.stderr).toBe('');
});

type Finding = { line: string; text: string };

/** Runs the project's own configuration over a tree of small files. `npm run check:lint` runs it over the sources. */
async function lintSamples(): Promise<Map<string, Finding[]>> {
  await using directory = await temporaryDirectory('architecture');
  const tree = directory.path;
  const files = new Map<string, string>();
  for (const { folder, refused, allowed } of BOUNDARIES) {
    files.set(`${folder}/refused.ts`, importLines(folder, refused).join('\n'));
    files.set(`${folder}/allowed.ts`, importLines(folder, allowed).join('\n'));
  }
  for (const folder of ['src/domain', 'src/application', 'src/adapters/later', 'src/main']) {
    files.set(`${folder}/platform.ts`, 'export const home = process.env["HOME"];\n');
  }
  files.set('src/main/long.ts', 'export {};\n'.repeat(251));
  files.set('src/main/long-function.ts', `export function long() {\n${'  void 0;\n'.repeat(70)}}\n`);
  // The rules about imports need no types.
  const config = await readFile(join(ROOT, '.oxlintrc.json'), 'utf8');
  files.set('.oxlintrc.json', config.replace('"typeAware": true, ', ''));
  for (const [path, source] of files) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), source);
  }
  return await lint(tree, files);
}

/** What the linter says about {@link RULES}, by file and in the order of its lines. */
async function lint(cwd: string, files: ReadonlyMap<string, string>): Promise<Map<string, Finding[]>> {
  const oxlint = [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '--format=json', '.'];
  // It exits with 1 when it has found something.
  const { stdout } = await promisify(execFile)(process.execPath, oxlint, { cwd, maxBuffer: 2 ** 26 }).catch(
    (error: { stdout: string }) => error,
  );
  const found = new Map<string, Finding[]>();
  const { diagnostics } = JSON.parse(stdout);
  const lineOf = ({ labels }: { labels: { span: { line: number } }[] }) => labels[0]?.span.line ?? 0;
  for (const one of diagnostics.toSorted((a: never, b: never) => lineOf(a) - lineOf(b))) {
    const { code, filename, message, help } = one;
    const line = files.get(filename)?.split('\n')[lineOf(one) - 1] ?? '';
    if (RULES.includes(code)) found.getOrInsert(filename, []).push({ line, text: `${message} ${help}` });
  }
  return found;
}
