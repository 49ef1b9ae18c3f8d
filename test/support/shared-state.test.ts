import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, run } from './process.ts';
import { testDirectory } from './test-directory.ts';

/** For each part that `shared-state.ts` compares, a statement that changes this part of the process. */
const CHANGES = {
  cwd: "process.chdir('/')",
  environment: "process.env.LEFT = 'behind'",
  exitCode: 'process.exitCode = 3',
  title: "process.title = 'x'",
  listeners: "process.on('SIGUSR2', () => {})",
  clocks: "vi.useFakeTimers({ toFake: ['setTimeout'] })",
  random: 'Math.random = () => 0',
  limits: "execFileSync('prlimit', ['--pid', `${process.pid}`, '--fsize=1000000000:'])",
  umask: 'process.umask(0o77)',
  users: 'process.seteuid(65534)',
  ignoredSignals: "process.once('SIGXFSZ', () => {}).removeAllListeners('SIGXFSZ')",
};

it('shared-state.ts fails only a file that changes its process, and names the changes', async ({ skip }) => {
  if (process.platform !== 'linux' || process.geteuid?.() !== 0)
    skip('only root on Linux can change all of these parts');
  const directory = await testDirectory();
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const setupFiles = join(import.meta.dirname, 'shared-state.ts');
  const config = { setupFiles, include: ['*.js'], maxWorkers: 1 };
  await writeFile(join(directory, 'vitest.config.mjs'), `export default ${JSON.stringify({ test: config })}`);
  const imports = "import { execFileSync } from 'node:child_process'; import { it, vi } from 'vitest';";
  const changes = Object.values(CHANGES).join('; ');
  for (const [file, code] of [['changes', changes] as const, ['none', ''] as const])
    await writeFile(join(directory, `${file}.js`), `${imports} it('passes', () => { ${code} });`);
  const program = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const vitest = run(process.execPath, [program, 'run', '--root', directory], { NO_COLOR: '1' });
  expect(await vitest.ended).toMatchObject({ code: 1 });
  const failures = [...vitest.stderr.matchAll(/FAIL +(\w+)\.js .*\nAssertionError: changed parts: (.*):/g)];
  expect(failures.map(([, file, names]) => [file, names])).toStrictEqual([
    ['changes', Object.keys(CHANGES).join(', ')],
  ]);
});
