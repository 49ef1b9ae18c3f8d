// Applies each patch of examples/changes to a copy of this tree, and checks the copy there. Changes nothing here.
//
//   node scripts/try-changes.ts --types         the types only: some seconds
//   node scripts/try-changes.ts                 also the contract suites, the document and the upgrade tests: some minutes
//   node scripts/try-changes.ts --open NAME DIR   makes a copy in DIR, to work on the change; DIR/**/*.rej has what failed
//   node scripts/try-changes.ts --save NAME DIR   makes the patch again from that copy
import { spawnSync, type SpawnSyncOptions } from 'node:child_process';
import { cp, glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

const ROOT = dirname(import.meta.dirname);
const CHANGES = join(ROOT, 'examples/changes');

/** What a copy does not need. Packages are linked. */
const LEFT_OUT = new Set(['.git', 'node_modules', 'coverage', 'dist', 'reports']);

/** What is generated belongs in no patch. The check makes it again. */
const PATHS = ['.', ':!openapi.json'];

/** Beside the tests that the patch changes. */
const TESTS = ['test/contracts', 'test/adapters/http/openapi'];

/** They run a build with the change on what a build without it has stored. */
const UPGRADE_TESTS = ['test/upgrade/fixtures.test.ts', 'test/upgrade/sqlite.test.ts'];

/** Leaves out a test that names the field of next-build.patch. */
const UNFIT = '^(?!.*stores new fields)';

const patchOf = (name: string) => join(CHANGES, `${name}.patch`);

/** @throws {Error} when the command fails; its output goes to this terminal, unless it is piped */
function run(cwd: string, command: string, args: readonly string[], options: SpawnSyncOptions = {}): string {
  // Otherwise git would use a repository that contains the directory.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(cwd) };
  const { status, stdout, error } = spawnSync(command, args, { stdio: 'inherit', ...options, cwd, env });
  if (status !== 0) {
    throw new Error(`${command} ${args.join(' ')}: failed in ${cwd}`, error && { cause: error });
  }
  return String(stdout ?? '');
}

const node = (cwd: string, ...args: string[]) => run(cwd, process.execPath, args);
const bin = (name: string) => join(ROOT, 'node_modules', name);

async function copyTo(directory: string): Promise<void> {
  await cp(ROOT, directory, { recursive: true, filter: (path) => !LEFT_OUT.has(basename(path)) });
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
}

/** @throws {Error} when the patch does not fit; with `--reject`, the files `*.rej` have what did not */
function apply(name: string, directory: string, ...options: readonly string[]): void {
  try {
    run(directory, 'git', ['apply', ...options, patchOf(name)]);
  } catch (cause) {
    const page = `examples/changes/${name}.md`;
    throw new Error(`${name}.patch does not fit this tree any more: see "Make the patch again" in ${page}`, {
      cause,
    });
  }
}

/** Makes a copy of the tree for this work, and removes it. */
async function inCopy(name: string, work: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), `petstore-${name}-`));
  try {
    await copyTo(directory);
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function vitest(directory: string, ...args: readonly string[]): void {
  node(directory, bin('vitest/vitest.mjs'), 'run', '--project=!browser', ...args);
}

async function check(name: string, typesOnly: boolean): Promise<void> {
  const patch = await readFile(patchOf(name), 'utf8');
  await inCopy(name, async (directory) => {
    console.log(`== ${name}: the patch and the types`);
    apply(name, directory);
    node(directory, bin('typescript/bin/tsc'));
    if (typesOnly) return;
    console.log(`== ${name}: the contract suites, the document, and the tests that the patch changes`);
    node(directory, 'scripts/write-openapi.ts');
    const changed = Array.from(patch.matchAll(/^\+\+\+ b\/(test\/.+\.test\.ts)$/gm), ([, file]) => file!);
    vitest(directory, ...TESTS, ...changed);
  });
  if (typesOnly) return;
  await inCopy(name, async (directory) => {
    console.log(`== ${name}: the upgrade tests, with the change as the next build`);
    const ofSources = patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git a/src/'));
    const hasSteps = patch.includes('+++ b/src/adapters/sqlite/schema.ts');
    await writeFile(join(directory, 'test/upgrade/next-build.patch'), ofSources.join(''));
    vitest(directory, ...UPGRADE_TESTS.slice(0, hasSteps ? 2 : 1), '-t', UNFIT);
  });
}

const git = (directory: string, ...args: string[]) =>
  run(directory, 'git', ['-c', 'user.name=change', '-c', 'user.email=change@localhost', ...args]);

async function open(name: string, directory: string): Promise<void> {
  await mkdir(directory);
  await copyTo(directory);
  git(directory, 'init', '--quiet');
  git(directory, 'add', '.');
  git(directory, 'commit', '--quiet', '--message', 'before the change');
  apply(name, directory, '--reject');
}

async function save(name: string, directory: string): Promise<void> {
  git(directory, 'add', '--intent-to-add', '.');
  const diff = run(directory, 'git', ['diff', '-U1', '--', ...PATHS], { stdio: 'pipe', maxBuffer: 2 ** 24 });
  await writeFile(patchOf(name), diff);
}

const [action, name, directory] = process.argv.slice(2);
if (action === '--open' && name && directory) await open(name, resolve(directory));
else if (action === '--save' && name && directory) await save(name, resolve(directory));
else if (action !== undefined && action !== '--types') {
  throw new Error(`${action} is none of --types, --open NAME DIR and --save NAME DIR`);
} else {
  const patches = await Array.fromAsync(glob('*.patch', { cwd: CHANGES }));
  for (const patch of patches.toSorted()) await check(basename(patch, '.patch'), action === '--types');
}
