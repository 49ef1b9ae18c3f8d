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
 * A rule for the imports of the files in `folder`. `allowed` has packages and files that they may import. `refused` has
 * packages and files that they may not import. `message` is a part of what the linter then prints.
 */
type Boundary = { folder: string; message: string; refused: string[]; allowed: string[] };

/** The packages of the dependency injection container. Only src/main may import them. */
const CONTAINER = ['tsyringe', 'reflect-metadata'];
/** Examples of imports that the core (the domain and the application) may not have. */
const REFUSED_IN_CORE = ['koa', 'tsyringe', 'node:crypto', 'src/adapters/a.ts'];
const OUTSIDE_SRC = ['test/support/mongodb.ts', 'bench/run.ts'];
const MAIN_AND_OUTSIDE = ['src/main/main.ts', ...OUTSIDE_SRC];

/** Returns a boundary for a subfolder, with the imports and the message of `boundary`. */
const inSubfolder = (boundary: Boundary) => ({ ...boundary, folder: `${boundary.folder}/inner` });

// The rules for present folders also hold for folders that are added later. `new` stands for such a folder.
const applicationFolders = ['pets', 'ports', 'new'].map((subject): Boundary => {
  const folder = `src/application/${subject}`;
  const core = ['src/application/ports/pet-repository.ts', 'src/application/keys/errors.ts'];
  return {
    folder,
    message: 'The application imports itself and the domain only',
    refused: [...REFUSED_IN_CORE, ...MAIN_AND_OUTSIDE],
    allowed: [`${folder}/own.ts`, ...core, 'src/domain/pet.ts'],
  };
});
/** Examples of imports that every adapter may have. */
const ADAPTER_IMPORTS = ['src/adapters/json/a.ts', 'src/domain/a.ts', 'src/application/ports/a.ts', 'koa'];
const adapters = [...ADAPTERS, 'src/adapters/new'].map((folder): Boundary => {
  return {
    folder,
    message: 'An adapter imports the application, the domain, adapters/json, adapters/files,',
    refused: ['src/adapters/other/pets.ts', ...MAIN_AND_OUTSIDE, ...CONTAINER],
    allowed: [...ADAPTER_IMPORTS, 'src/adapters/files/a.ts', 'node:crypto', `${folder}/own.ts`],
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
const rooms = Object.entries(ROOMS).map(([room, importable]): Boundary => {
  const forbidden = Object.keys(ROOMS).filter((other) => other !== room && !importable.includes(other));
  const fileOf = (other: string) => `${HTTP}/${other}/a.ts`;
  const outsideRooms = [`${HTTP}/app.ts`, 'src/adapters/memory/pets.ts'];
  return {
    folder: `${HTTP}/${room}`,
    message: 'no other room of the HTTP adapter',
    refused: [...outsideRooms, ...forbidden.map(fileOf), ...MAIN_AND_OUTSIDE, ...CONTAINER],
    allowed: [...ADAPTER_IMPORTS, ...[room, ...importable].map(fileOf)],
  };
});

const BOUNDARIES: Boundary[] = [
  {
    folder: 'src/domain',
    message: 'The domain imports nothing but itself',
    refused: [...REFUSED_IN_CORE, 'src/application/a.ts', ...MAIN_AND_OUTSIDE],
    allowed: ['src/domain/pet.ts'],
  },
  ...applicationFolders,
  ...adapters.flatMap((adapter) => [adapter, inSubfolder(adapter)]),
  ...rooms,
  mainFolder,
  inSubfolder(mainFolder),
  // Each row has a folder of src/main, and a file in another folder that it may not import.
  ...[
    ['composition', 'src/main/service/serve.ts'],
    ['service', 'src/main/command-line/run.ts'],
    ['command-line', 'src/main/service/serve.ts'],
  ].map(([name, refusedFile = '']): Boundary => {
    return {
      folder: `src/main/${name}`,
      message: 'Composition, service and commands import neither main.ts nor a folder that imports them',
      refused: [refusedFile, ...MAIN_AND_OUTSIDE],
      allowed: [`src/main/${name}/own.ts`, 'src/main/program/process.ts', 'package.json'],
    };
  }),
  {
    folder: 'test',
    message: 'Only src/main knows the container',
    refused: CONTAINER,
    allowed: ['koa', 'src/main/main.ts', 'src/domain/pet.ts'],
  },
];

/** Returns four lines for each target. Each line imports the target in another way into a file of `folder`. */
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

/** The rules of the linter whose findings the tests compare. */
const RULES = [
  'eslint(max-lines)',
  'eslint(max-lines-per-function)',
  'eslint(no-restricted-globals)',
  'eslint(no-restricted-imports)',
  'node(no-process-env)',
];

const findings = await lintSamples();

test.each(BOUNDARIES)('the linter limits the imports of $folder', ({ folder, message, refused, allowed }) => {
  const found = findings.get(`${folder}/refused.ts`) ?? [];
  expect(found.map(({ line }) => line)).toEqual(importLines(folder, refused));
  for (const { text } of found) expect(text).toContain(message);
  expect(allowed).not.toEqual([]);
  expect(findings.get(`${folder}/allowed.ts`)).toBeUndefined();
});

test('the linter refuses process.env in the domain, the application and adapters, and allows it in main', () => {
  // In the domain and the application, the second finding is about the global `process`.
  expect(findings.get('src/domain/process-env.ts')).toHaveLength(2);
  expect(findings.get('src/application/process-env.ts')).toHaveLength(2);
  expect(findings.get('src/adapters/new/process-env.ts')).toHaveLength(1);
  expect(findings.get('src/main/process-env.ts')).toBeUndefined();
});

test('the linter refuses a long file and a long function', () => {
  for (const long of ['src/main/long.ts', 'src/main/long-function.ts']) {
    expect(findings.get(long), long).toMatchObject([{ text: expect.stringContaining('too many lines') }]);
  }
});

test('no source file is directly in src or in src/adapters', () => {
  expect(SOURCES.filter((path) => /^src\/(adapters\/)?[^/]+$/.test(path))).toEqual([]);
});

test('the imports between the folders of src form no cycle', async () => {
  const imports = new Map(SOURCES.map((path) => [dirname(path), new Set<string>()]));
  for (const path of SOURCES) {
    const specifiers = (await readFile(join(ROOT, path), 'utf8')).matchAll(/(?:from |import\()'(\.[^']+)'/g);
    for (const [, to = ''] of specifiers) imports.get(dirname(path))!.add(dirname(join(dirname(path), to)));
  }
  // Deletes the folders one by one. A folder can be deleted when it imports no other folder of the map. The folders
  // that cannot be deleted are in a cycle, or lead to a cycle by their imports.
  const findDeletable = () =>
    [...imports].find(([own, to]) => ![...to].some((folder) => folder !== own && imports.has(folder)));
  for (let found = findDeletable(); found; found = findDeletable()) imports.delete(found[0]);
  expect([...imports.keys()]).toStrictEqual([]);
});

// `fault` names who caused an error: the client, the operator or the storage. The code catches the errors of
// the three other classes itself, or turns them into an answer.
test('every error class has a `fault`, except Interrupted, Refused and RequestRefused', async () => {
  const withoutFault = new Set<unknown>();
  for (const path of SOURCES) {
    const source = await readFile(join(ROOT, path), 'utf8');
    for (const [text, name] of source.matchAll(/^(?:export )?class (\w+) extends Error \{.*?\}$/gms)) {
      if (!/ readonly fault = '(client|operator|storage)';$/m.test(text)) withoutFault.add(name);
    }
  }
  expect(withoutFault).toEqual(new Set(['Interrupted', 'Refused', 'RequestRefused']));
});

// This test also fails if a module has a decorator or an enum, because Node cannot run them: it only removes types.
test('importing a module opens no resource, adds no listener to the process and prints nothing', async () => {
  const modules = SOURCES.filter((path) => path !== 'src/main/main.ts').map((path) => join(ROOT, path));
  const script = `
    // The streams are opened before the state is read, because the import of node:process by the command line opens
    // them. Reading a property opens its stream.
    const { stdin, stdout, stderr } = process;
    const state = () => ({ resources: process.getActiveResourcesInfo(), listeners: process.eventNames() });
    const before = state();
    for (const module of ${JSON.stringify(modules)}) await import(module);
    console.log(JSON.stringify(before), JSON.stringify(state()));
  `;
  // If a module kept the process alive, `succeeded` would wait until the test timed out.
  const node = run(process.execPath, ['--input-type=module', '--eval', script]);
  const [before, after] = (await node.succeeded()).trimEnd().split(' ');
  expect(after).toBe(before);
  expect(node.stderr).toBe('');
});

/** A message of the linter. `line` is the source line that `text` is about. */
type Finding = { line: string; text: string };

/**
 * Lints a tree of small files with the project's `.oxlintrc.json`, with which `npm run check:lint` lints the sources.
 * Resolves with the findings by path.
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
    files.set(`${folder}/process-env.ts`, 'export const home = process.env["HOME"];\n');
  }
  // A file may have 250 lines, and a function 70.
  files.set('src/main/long.ts', 'export {};\n'.repeat(251));
  files.set('src/main/long-function.ts', `export function long() {\n${'  void 0;\n'.repeat(70)}}\n`);
  // The rules in RULES need no types, and a check without types is faster.
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
  // The linter exits with 1 when it has found a violation. `execFile` then rejects with an error that has the output.
  const { stdout } = await promisify(execFile)(process.execPath, oxlint, { cwd, maxBuffer: 2 ** 26 }).catch(
    (error: { stdout: string }) => error,
  );
  const found = new Map<string, Finding[]>();
  const { diagnostics } = JSON.parse(stdout);
  const lineNumber = ({ labels }: { labels: { span: { line: number } }[] }) => labels[0]?.span.line ?? 0;
  for (const diagnostic of diagnostics.toSorted((a: never, b: never) => lineNumber(a) - lineNumber(b))) {
    const { code, filename, message, help } = diagnostic;
    const line = files.get(filename)?.split('\n')[lineNumber(diagnostic) - 1] ?? '';
    if (RULES.includes(code)) found.getOrInsert(filename, []).push({ line, text: `${message} ${help}` });
  }
  return found;
}
