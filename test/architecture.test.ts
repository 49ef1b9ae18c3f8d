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
 * A rule for imports: the packages and files that a file in `folder` may import, those that it may not, and the
 * beginning of the linter's message about them.
 */
type Boundary = { folder: string; message: string; refused: string[]; allowed: string[] };

const CONTAINER = ['tsyringe', 'reflect-metadata'];
/** Imports that the domain and the application may not have. */
const ADAPTER_IMPORTS = ['koa', 'tsyringe', 'node:crypto', 'src/adapters/a.ts'];
const OUTSIDE_SRC = ['test/support/mongodb.ts', 'bench/run.ts'];
const MAIN_AND_OUTSIDE = ['src/main/main.ts', ...OUTSIDE_SRC];

/** Returns the same boundary for a subfolder. */
const inSubfolder = (boundary: Boundary) => ({ ...boundary, folder: `${boundary.folder}/inner` });

// `new` stands for folders that do not exist yet. The same rules hold for them.
const subjects = ['pets', 'ports', 'new'].map((subject): Boundary => {
  const folder = `src/application/${subject}`;
  const core = ['src/application/ports/pet-repository.ts', 'src/application/keys/errors.ts'];
  return {
    folder,
    message: 'The application imports itself and the domain only',
    refused: [...ADAPTER_IMPORTS, ...MAIN_AND_OUTSIDE],
    allowed: [`${folder}/own.ts`, ...core, 'src/domain/pet.ts'],
  };
});
/** Imports that every adapter may have. */
const ADAPTERS_MAY = ['src/adapters/json/a.ts', 'src/domain/a.ts', 'src/application/ports/a.ts', 'koa'];
const adapters = [...ADAPTERS, 'src/adapters/new'].map((folder): Boundary => {
  return {
    folder,
    message: 'An adapter imports the application, the domain, adapters/json, adapters/files,',
    refused: ['src/adapters/other/pets.ts', ...MAIN_AND_OUTSIDE, ...CONTAINER],
    allowed: [...ADAPTERS_MAY, 'src/adapters/files/a.ts', 'node:crypto', `${folder}/own.ts`],
  };
});
const mainFolder: Boundary = {
  folder: 'src/main',
  message: 'Nothing in src imports from outside src',
  refused: OUTSIDE_SRC,
  allowed: ['tsyringe', 'src/main/config.ts', 'src/adapters/memory/pets.ts', 'package.json'],
};

/** The folders of the HTTP adapter ("rooms"), each with the other rooms that it may import. */
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
  const fileOf = (other: string) => `${HTTP}/${other}/a.ts`;
  const others = [`${HTTP}/app.ts`, 'src/adapters/memory/pets.ts'];
  return {
    folder: `${HTTP}/${room}`,
    message: 'no other room of the HTTP adapter',
    refused: [...others, ...unknown.map(fileOf), ...MAIN_AND_OUTSIDE, ...CONTAINER],
    allowed: [...ADAPTERS_MAY, ...[room, ...known].map(fileOf)],
  };
});

const BOUNDARIES: Boundary[] = [
  {
    folder: 'src/domain',
    message: 'The domain imports nothing but itself',
    refused: [...ADAPTER_IMPORTS, 'src/application/a.ts', ...MAIN_AND_OUTSIDE],
    allowed: ['src/domain/pet.ts'],
  },
  ...subjects,
  ...adapters.flatMap((adapter) => [adapter, inSubfolder(adapter)]),
  ...rooms,
  mainFolder,
  inSubfolder(mainFolder),
  ...[
    ['composition', 'src/main/service/serve.ts'],
    ['service', 'src/main/command-line/run.ts'],
    ['command-line', 'src/main/service/serve.ts'],
  ].map(([room, other = '']): Boundary => {
    return {
      folder: `src/main/${room}`,
      message: 'Composition, service and commands import neither main.ts nor a folder that imports them',
      refused: [other, ...MAIN_AND_OUTSIDE],
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

/** Returns one line for each way to import each of the targets. */
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

test.each(BOUNDARIES)('the linter guards the imports of $folder', ({ folder, message, refused, allowed }) => {
  const found = findings.get(`${folder}/refused.ts`) ?? [];
  expect(found.map(({ line }) => line)).toEqual(importLines(folder, refused));
  for (const { text } of found) expect(text).toContain(message);
  expect(allowed).not.toEqual([]);
  expect(findings.get(`${folder}/allowed.ts`)).toBeUndefined();
});

test('the linter refuses the globals of Node in the core, and process.env everywhere but in main', () => {
  expect(findings.get('src/domain/platform.ts')).toHaveLength(2);
  expect(findings.get('src/application/platform.ts')).toHaveLength(2);
  expect(findings.get('src/adapters/new/platform.ts')).toHaveLength(1);
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

test('no folders import each other, neither directly nor through other folders', async () => {
  const imports = new Map(SOURCES.map((path) => [dirname(path), new Set<string>()]));
  for (const path of SOURCES) {
    const specifiers = (await readFile(join(ROOT, path), 'utf8')).matchAll(/(?:from |import\()'(\.[^']+)'/g);
    for (const [, to = ''] of specifiers) imports.get(dirname(path))!.add(dirname(join(dirname(path), to)));
  }
  // Deletes each folder that imports no folder of the map. The folders that stay are in a cycle, or import one.
  const lowest = () =>
    [...imports].find(([own, to]) => ![...to].some((folder) => folder !== own && imports.has(folder)));
  for (let found = lowest(); found !== undefined; found = lowest()) imports.delete(found[0]);
  expect([...imports.keys()]).toStrictEqual([]);
});

test('every error class has a `fault`, except errors that the code catches itself or turns into an answer', async () => {
  const withoutFault = new Set<unknown>();
  for (const path of SOURCES) {
    const source = await readFile(join(ROOT, path), 'utf8');
    for (const [text, name] of source.matchAll(/^(?:export )?class (\w+) extends Error \{.*?\}$/gms)) {
      if (!/ readonly fault = '(client|operator|storage)';$/m.test(text)) withoutFault.add(name);
    }
  }
  expect(withoutFault).toEqual(new Set(['Interrupted', 'Refused', 'RequestRefused']));
});

// The import also fails for a decorator or an enum, because Node only removes types.
test('importing a module opens nothing, listens to nothing and prints nothing', async () => {
  const modules = SOURCES.filter((path) => path !== 'src/main/main.ts').map((path) => join(ROOT, path));
  const script = `
    // Reading these properties opens the streams. node:process, which the command line imports, reads all three.
    const { stdin, stdout, stderr } = process;
    const state = () => ({ resources: process.getActiveResourcesInfo(), listeners: process.eventNames() });
    const before = state();
    for (const module of ${JSON.stringify(modules)}) await import(module);
    console.log(JSON.stringify(before), JSON.stringify(state()));
  `;
  // A module that kept the process alive would make this wait until the test times out.
  const node = run(process.execPath, ['--input-type=module', '--eval', script]);
  const [before, after] = (await node.succeeded()).trimEnd().split(' ');
  expect(after).toBe(before);
  expect(node.stderr).toBe('');
});

type Finding = { line: string; text: string };

/**
 * Lints a tree of small files with the configuration of the project. `npm run check:lint` lints the sources with it.
 */
async function lintSamples(): Promise<Map<string, Finding[]>> {
  await using directory = await temporaryDirectory('architecture');
  const tree = directory.path;
  const files = new Map<string, string>();
  for (const { folder, refused, allowed } of BOUNDARIES) {
    files.set(`${folder}/refused.ts`, importLines(folder, refused).join('\n'));
    files.set(`${folder}/allowed.ts`, importLines(folder, allowed).join('\n'));
  }
  for (const folder of ['src/domain', 'src/application', 'src/adapters/new', 'src/main']) {
    files.set(`${folder}/platform.ts`, 'export const home = process.env["HOME"];\n');
  }
  files.set('src/main/long.ts', 'export {};\n'.repeat(251));
  files.set('src/main/long-function.ts', `export function long() {\n${'  void 0;\n'.repeat(70)}}\n`);
  // The rules for imports need no types, and a check without types is faster.
  const config = await readFile(join(ROOT, '.oxlintrc.json'), 'utf8');
  files.set('.oxlintrc.json', config.replace('"typeAware": true, ', ''));
  for (const [path, source] of files) {
    await mkdir(dirname(join(tree, path)), { recursive: true });
    await writeFile(join(tree, path), source);
  }
  return await lint(tree, files);
}

/** Returns the messages of {@link RULES}, by file and in the order of the lines. */
async function lint(cwd: string, files: ReadonlyMap<string, string>): Promise<Map<string, Finding[]>> {
  const oxlint = [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '--format=json', '.'];
  // The linter exits with 1 when it has found a violation. The error then has its output.
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
