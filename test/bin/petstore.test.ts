import { appendFile, copyFile, cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ask } from '../support/client.ts';
import { DONE, FAILED, PRETENDS_TO_BE_OLD, ROOT, run, runService, SERVICE_ENV } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

test('an old Node is told what to do', async () => {
  const petstore = runService({ NODE_OPTIONS: PRETENDS_TO_BE_OLD }, ['--version']);

  expect(await petstore.ended).toStrictEqual(FAILED);
  expect(petstore.stdout).toBe('');
  expect(petstore.stderr).toBe(
    'petstore: needs Node 26 or later, and this is v20.20.2. ' +
      'On Linux and on Macs with Apple silicon, `npm ci` without --omit=optional installs one, and bin/petstore uses it.\n',
  );
});

describe('the command of a clone', { timeout: 30_000 }, () => {
  const THIS_NODE = `#!/bin/sh\nexec '${process.execPath}' "$@"`;

  /** Runs bin/petstore of a clone through a link to it, with such scripts as Node. */
  async function runWith(nodes: { readonly own?: string; readonly onPath: string }, args: readonly string[]) {
    const directory = await testDirectory();
    for (const folder of ['bin', 'node_modules/.bin', 'path'])
      await mkdir(join(directory, folder), { recursive: true });
    for (const file of ['bin/petstore', 'bin/petstore.js', 'package.json']) {
      await copyFile(join(ROOT, file), join(directory, file));
    }
    await symlink(join(ROOT, 'src'), join(directory, 'src'));
    await symlink('../bin/petstore', join(directory, 'path/petstore'));
    const scripts = { 'node_modules/.bin/node': nodes.own, 'path/node': nodes.onPath };
    for (const [path, script] of Object.entries(scripts)) {
      if (script !== undefined) await writeFile(join(directory, path), `${script}\n`, { mode: 0o755 });
    }
    // npm puts the Node of the clone first.
    const folders = ['node_modules/.bin', 'path'].map((folder) => join(directory, folder));
    const PATH = [...folders, process.env['PATH']].join(':');
    return run('petstore', args, { ...SERVICE_ENV, PATH }, directory);
  }

  test('runs on the Node of the PATH if the clone has none, which gets every option', async () => {
    const petstore = await runWith({ onPath: THIS_NODE }, [
      'export',
      '--from',
      'sqlite:/nonexistent/petstore.db',
    ]);
    expect(await petstore.ended).toStrictEqual(FAILED);
    expect(petstore.stderr).toBe('petstore: there is no SQLite file /nonexistent/petstore.db\n');
  });

  test.each([
    ['of another processor', '\x7fELF\x02\x01\x01'],
    ['of another C library', '#!/lib/ld-of-another-system.so'],
    ['that lacks a symbol', '#!/bin/sh\necho "node: GLIBC_9.99 not found" >&2; exit 1'],
  ])('runs on the Node of the PATH if its own is one %s, also under npm', async (_, own) => {
    const petstore = await runWith({ own, onPath: THIS_NODE }, ['--version']);
    expect(await petstore.ended).toStrictEqual(DONE);
    expect([petstore.stdout, petstore.stderr]).toStrictEqual([expect.stringMatching(/^\d+\.\d+/), '']);
  });

  test("becomes the service on the clone's own Node, which gets signals", async () => {
    const petstore = await runWith({ own: THIS_NODE, onPath: '#!/bin/sh\nexit 99' }, []);
    await petstore.url();
    petstore.signal('SIGTERM');
    expect(await petstore.ended).toStrictEqual(DONE);
    expect(petstore.log.map(({ msg }) => msg)).toContain('stopped');
  });
});

test('npm start writes nothing when it takes --to for itself', async () => {
  const directory = await testDirectory();
  const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
  const program = run('npm', ['start', 'import', 'examples/pets.ndjson', '--to', 'sqlite:elsewhere.db'], env);
  expect((await program.ended).code).toBe(2);
  expect(program.stderr).toContain(
    'petstore: npm took --to for an option of its own; run bin/petstore instead',
  );
  expect(await readdir(directory)).toStrictEqual([]);
});

test('npm run dev starts the service again after a change, with the same key, which is not in the log, and Ctrl-C drains it', async () => {
  const directory = await testDirectory();
  for (const part of ['bin', 'src', 'package.json']) {
    await cp(join(ROOT, part), join(directory, part), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  // The Node that npm runs with cannot watch. Below it is the one that npm finds in the clone.
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
  // As a terminal does, to the whole group.
  process.kill(-dev.pid, 'SIGINT');
  await dev.ended;
  expect(dev.stdout).toMatch(/"reason":"SIGINT".*"stopped"/s);
});

async function install(files: readonly string[]) {
  const directory = await testDirectory();
  for (const file of files) await copyFile(join(ROOT, file), join(directory, file));
  // Needs no network, and decides the same about each package.
  const args = ['ci', '--dry-run', '--offline', '--no-audit', '--cache', join(directory, 'cache')];
  const npm = run('npm', args, { NODE_OPTIONS: PRETENDS_TO_BE_OLD }, directory);
  return { npm, ended: await npm.ended };
}

test('npm ci on an old Node warns of nothing', async () => {
  const { npm, ended } = await install(['package.json', 'package-lock.json', '.npmrc']);
  expect(ended).toStrictEqual(DONE);
  expect(npm.stderr).toBe('');
  // Such as `add koa 3.3.0`, which a real installation does not print.
  expect(npm.stdout.replaceAll(/^add \S+ \S+\n/gm, '')).toMatch(/^\nadded \d+ packages in .*\n$/);
});

test('npm ci on an old Node says why it fails', async () => {
  const { npm, ended } = await install(['package.json', '.npmrc']);
  expect(ended).toStrictEqual(FAILED);
  expect(npm.stderr).toMatch(/^npm error code EUSAGE\n/);
});
