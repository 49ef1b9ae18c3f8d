import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, run } from './process.ts';
import { testDirectory } from './test-directory.ts';

/** What a test file may leave changed, and how. */
const LEFT_CHANGED: readonly (readonly [string, string])[] = [
  ['umask', 'process.umask(0o77)'],
  ['environment', "process.env.LEFT = 'behind'"],
  ['exitCode', 'process.exitCode = 3'],
  ['title', "process.title = 'x'"],
  ['listeners', "process.on('SIGUSR2', () => {})"],
  ['clocks', "vi.useFakeTimers({ toFake: ['setTimeout'] })"],
  ['random', 'Math.random = () => 0'],
  ['limits', "execFileSync('prlimit', ['--pid', `${process.pid}`, '--fsize=1000000000:'])"],
  ['ignoredSignals', "process.once('SIGXFSZ', () => {}).removeAllListeners('SIGXFSZ')"],
  ['cwd', "process.chdir('/')"],
  ['users', 'process.seteuid(65534)'],
];

it('fails a file that leaves a change to the process, and says which', async ({ skip }) => {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0)
    skip('only root on Linux can change all of it');
  const directory = await testDirectory();
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const setupFiles = join(import.meta.dirname, 'shared-state.ts');
  const config = { setupFiles, include: ['*.js'], maxWorkers: 2 };
  await writeFile(join(directory, 'vitest.config.mjs'), `export default ${JSON.stringify({ test: config })}`);
  const imports = "import { execFileSync } from 'node:child_process'; import { it, vi } from 'vitest';";
  for (const [what, statement] of LEFT_CHANGED) {
    await writeFile(join(directory, `${what}.js`), `${imports} it('passes', () => { ${statement} });`);
  }
  const program = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const vitest = run(process.execPath, [program, 'run', '--root', directory], { NO_COLOR: '1' });
  expect(await vitest.ended).toMatchObject({ code: 1 });
  const failures = vitest.stderr.matchAll(/FAIL +(\w+)\.js .*\nAssertionError: left changed: (\w+):/g);
  expect(new Map([...failures].map(([, file, what]) => [file, what]))).toStrictEqual(
    new Map(LEFT_CHANGED.map(([what]) => [what, what])),
  );
});
