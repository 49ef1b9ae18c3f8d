import {
  appendFile,
  chmod,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { preload, ROOT, run, runService, SERVICE, SERVICE_ENV } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

const PRETENDS_TO_BE_OLD = preload('Object.defineProperty(process, "version", { value: "v20.20.2" })');

test('an old Node is told what to do when there is no other', async () => {
  const petstore = run(process.execPath, [PRETENDS_TO_BE_OLD, ...SERVICE, '--version']);

  expect(await petstore.ended).toStrictEqual({ code: 1, signal: null });
  expect(petstore.stdout).toBe('');
  expect(petstore.stderr).toBe(
    'petstore: needs Node 26 or later, and this is v20.20.2. ' +
      'In a clone, `npm ci` installs one on Linux and on Macs with Apple silicon.\n',
  );
});

describe('an old Node in a clone', () => {
  /** A clone whose own Node is this one, reached through a script: the launcher sees a Node that is not its own. */
  async function clone(): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-clone-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    for (const folder of ['bin', 'node_modules/.bin'])
      await mkdir(join(directory, folder), { recursive: true });
    for (const file of ['bin/petstore.js', 'package.json']) {
      await copyFile(join(ROOT, file), join(directory, file));
    }
    await symlink(join(ROOT, 'src'), join(directory, 'src'));
    const node = join(directory, 'node_modules/.bin/node');
    await writeFile(node, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
    await chmod(node, 0o755);
    return join(directory, 'bin/petstore.js');
  }

  const runOld = async (args: readonly string[], ...options: readonly string[]) =>
    run(process.execPath, [PRETENDS_TO_BE_OLD, ...options, await clone(), ...args], SERVICE_ENV);

  test("runs the clone's own Node, which gets the arguments, the input and the output", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const petstore = await runOld(['--version']);
    expect(await petstore.ended).toStrictEqual({ code: 0, signal: null });
    expect([petstore.stdout, petstore.stderr]).toStrictEqual([`${version}\n`, '']);
  });

  test('ends with its exit code', async () => {
    const petstore = await runOld(['exprot']);
    expect(await petstore.ended).toStrictEqual({ code: 2, signal: null });
    expect(petstore.stderr).toContain("unknown command 'exprot'");
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'passes %s on, and waits for the drain',
    async (signal) => {
      const petstore = await runOld([]);
      await petstore.url();
      petstore.signal(signal);
      expect(await petstore.ended).toStrictEqual({ code: 0, signal: null });
      expect(petstore.log.map(({ msg }) => msg)).toContain('stopped');
    },
  );

  test('passes on a signal that comes at once', async () => {
    const signals = `
      import childProcess from 'node:child_process';
      import { syncBuiltinESMExports } from 'node:module';
      const { spawn } = childProcess;
      childProcess.spawn = (...args) => {
        const child = spawn(...args);
        process.kill(process.pid, 'SIGTERM');
        return child;
      };
      syncBuiltinESMExports();`;
    const petstore = await runOld([], preload(signals));
    // The child is gone as well: it shares the output. On a busy machine it has listened before.
    expect([0, null]).toContain((await petstore.ended).code);
  });

  test('is ended by the signal that has ended the service', async () => {
    const petstore = await runOld([]);
    await petstore.url();
    const children = await readFile(`/proc/${petstore.pid}/task/${petstore.pid}/children`, 'utf8');
    process.kill(Number(children), 'SIGKILL');
    expect(await petstore.ended).toStrictEqual({ code: null, signal: 'SIGKILL' });
  });
});

test('compiled sources are kept for the next start', async () => {
  // This variable would choose another directory.
  const petstore = runService({ NODE_COMPILE_CACHE: '' }, ['--help']);
  expect(await petstore.ended).toStrictEqual({ code: 0, signal: null });

  const kept = await readdir(join(ROOT, 'node_modules/.cache/petstore'), { recursive: true });
  expect(kept.length).toBeGreaterThan(10);
});

test.each([['start'], ['exec', 'petstore']])(
  'npm %s writes nothing when it takes --to for itself',
  async (...npm) => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-npm-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const env = { DATABASE_URL: `sqlite:${directory}/petstore.db` };
    const program = run(
      'npm',
      [...npm, 'import', 'examples/pets.ndjson', '--to', 'sqlite:elsewhere.db'],
      env,
    );
    expect((await program.ended).code).toBe(2);
    expect(program.stderr).toContain(
      'petstore: npm took --to for an option of its own; run npx petstore instead',
    );
    expect(await readdir(directory)).toStrictEqual([]);
  },
);

test('npm run dev starts the service again after a change, and Ctrl-C drains it', async () => {
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
  await dev.printed(/listening on/);
  await appendFile(join(directory, 'src/main/main.ts'), '// changed\n');
  await dev.printed(/"reason":"SIGTERM".*"stopped".*listening on/s);
  // As a terminal does, to the whole group.
  process.kill(-dev.pid, 'SIGINT');
  await dev.ended;
  expect(dev.stdout).toMatch(/"reason":"SIGINT".*"stopped"/s);
});

test('npx petstore runs in a clone and gets every option', async () => {
  const program = run('npx', ['petstore', 'export', '--from', 'sqlite:/nonexistent/petstore.db']);
  expect((await program.ended).code).toBe(1);
  expect(program.stderr).toContain('petstore: there is no SQLite file /nonexistent/petstore.db\n');
});
