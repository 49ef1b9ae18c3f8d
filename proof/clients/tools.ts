import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { findOnPath } from '../../test/support/mongod-binary.ts';
import { shell } from './shell.ts';

/** A program that a generator needs. `npm` and `python` also stand for the packages that this folder pins. */
export type Tool = 'npm' | 'python' | 'curl' | 'java' | 'mvn' | 'go' | 'php' | 'cargo';

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'petstore-clients');
const INSTALL_TIMEOUT_MS = 600_000;

/**
 * The folder in which clients are generated and compiled. This folder is below the installed packages, so that Node
 * finds them.
 */
export const WORK = join(CACHE, 'work');

/** The folder in which the blocks of `examples/clients/README.md` run. Node finds no packages above it. */
export const CLONES = `${CACHE}-clones`;

/** The `PATH` without the folders of packages that npm added. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'));
/** The environment of a reader of `examples/clients/README.md`, who has Node, but no package of this project. */
export const READER_ENV = {
  PATH: [dirname(process.execPath), ...PATH].join(delimiter),
  NO_COLOR: '1',
};

/** The environment of all other commands. */
export const ENV: Readonly<Record<string, string>> = {
  PATH: [join(CACHE, 'node_modules/.bin'), join(CACHE, 'python/bin'), READER_ENV.PATH].join(delimiter),
  CARGO_TARGET_DIR: join(CACHE, 'cargo-target'),
  NO_COLOR: '1',
};

/** The programs that each tool consists of. */
const PROGRAMS = {
  npm: ['npm'],
  python: ['python3'],
  curl: ['curl'],
  java: ['java'],
  mvn: ['mvn'],
  go: ['go'],
  php: ['php'],
  cargo: ['cargo', 'cc'],
} satisfies Record<Tool, readonly string[]>;

type Package = { readonly files: readonly [string, ...string[]]; readonly install: string };

/** How to install the packages that this folder pins. The first of `files` is a lock file. */
const PACKAGES: Readonly<Partial<Record<Tool, Package>>> = {
  npm: {
    files: ['package-lock.json', 'package.json'],
    install: 'npm ci --ignore-scripts --no-audit --no-fund',
  },
  python: {
    files: ['requirements.txt'],
    install:
      'rm -rf python && python3 -m venv python && ' +
      'python/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt',
  },
};

/** Returns the programs of these tools that are not on `PATH`. */
export async function missingPrograms(tools: readonly Tool[]): Promise<readonly string[]> {
  const missing = tools
    .flatMap((tool) => PROGRAMS[tool])
    .map(async (name) => ((await findOnPath(name)) === undefined ? [name] : []));
  return (await Promise.all(missing)).flat();
}

/** Installs the pinned packages of these tools into the cache, unless the cache has them already. */
export async function install(tools: ReadonlySet<Tool>): Promise<void> {
  await mkdir(WORK, { recursive: true });
  for (const tool of tools) {
    const packages = PACKAGES[tool];
    if (packages !== undefined) await installPackages(tool, packages);
  }
}

async function installPackages(tool: Tool, packages: Package): Promise<void> {
  const [lock] = packages.files;
  const pinned = await readFile(join(import.meta.dirname, lock), 'utf8');
  const installedFile = join(CACHE, `installed-${lock}`);
  const installed = await readFile(installedFile, 'utf8').catch(() => undefined);
  if (installed === pinned) return;
  console.log(`installing the ${tool} packages into ${CACHE}`);
  await rm(installedFile, { force: true });
  for (const file of packages.files) await cp(join(import.meta.dirname, file), join(CACHE, file));
  await shell(packages.install, { cwd: CACHE, env: ENV, timeoutMs: INSTALL_TIMEOUT_MS });
  await writeFile(installedFile, pinned);
}
