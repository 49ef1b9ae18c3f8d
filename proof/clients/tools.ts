import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { onPath } from '../../test/support/mongod-binary.ts';
import { shell } from './shell.ts';

/** What a generator needs. `npm` and `python` stand for the pinned packages in this folder. */
export type Tool = 'npm' | 'python' | 'curl' | 'java' | 'mvn' | 'go' | 'php' | 'cargo';

const CACHE = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'petstore-clients');
const INSTALL_TIMEOUT_MS = 600_000;

/** Where clients are generated and compiled. Below the packages, where Node finds them. */
export const WORK = join(CACHE, 'work');

/** Where the blocks of `examples/clients/README.md` run. Node finds no packages above it. */
export const CLONES = `${CACHE}-clones`;

/** What a reader of `examples/clients/README.md` has: Node, but no package of this project. npm has added their folders. */
const PATH = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'));
export const READER_ENV = {
  PATH: [dirname(process.execPath), ...PATH].join(delimiter),
  NO_COLOR: '1',
};

/** The environment of every other command. */
export const ENV: Readonly<Record<string, string>> = {
  PATH: [join(CACHE, 'node_modules/.bin'), join(CACHE, 'python/bin'), READER_ENV.PATH].join(delimiter),
  CARGO_TARGET_DIR: join(CACHE, 'cargo-target'),
  NO_COLOR: '1',
};

/** The programs that a tool consists of. */
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

/** Installs the packages that this folder pins. */
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

/** The programs of these tools that this machine lacks. */
export async function missingPrograms(tools: readonly Tool[]): Promise<readonly string[]> {
  const missing = tools
    .flatMap((tool) => PROGRAMS[tool])
    .map(async (name) => ((await onPath(name)) === undefined ? [name] : []));
  return (await Promise.all(missing)).flat();
}

/** Installs the pinned packages of these tools into the cache, unless they are there already. */
export async function install(tools: ReadonlySet<Tool>): Promise<void> {
  await mkdir(WORK, { recursive: true });
  for (const tool of tools) {
    const wanted = PACKAGES[tool];
    if (wanted !== undefined) await installPackages(tool, wanted);
  }
}

async function installPackages(tool: Tool, wanted: Package): Promise<void> {
  const [lock] = wanted.files;
  const pinned = await readFile(join(import.meta.dirname, lock), 'utf8');
  const mark = join(CACHE, `installed-${lock}`);
  const installed = await readFile(mark, 'utf8').catch(() => undefined);
  if (installed === pinned) return;
  console.log(`installing the ${tool} packages into ${CACHE}`);
  await rm(mark, { force: true });
  for (const file of wanted.files) await cp(join(import.meta.dirname, file), join(CACHE, file));
  await shell(wanted.install, { cwd: CACHE, env: ENV, timeoutMs: INSTALL_TIMEOUT_MS });
  await writeFile(mark, pinned);
}
