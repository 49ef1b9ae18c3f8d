import { spawnSync } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Program, ROOT, run, SERVICE, SERVICE_ENV } from '../support/process.ts';
import { testDirectory } from '../support/test-directory.ts';

/**
 * Makes the next version of the product. Pets may have a `nickname`. Each storage has one more migration step: SQLite
 * adds a column and an index, MongoDB an index and a validator that accepts more. The patch follows the recipe "Add a
 * field to a pet" of docs/explanation/architecture.md.
 */
const PATCH = join(ROOT, 'test/upgrade/next-build.patch');

const STALE = `The patch of the next build does not fit the sources any more. Make it again, in a clean clone:
  git apply --reject test/upgrade/next-build.patch
  (make the changes in src/**/*.rej by hand, and remove these files)
  npx biome format --write src && npx tsc -p tsconfig.json
  git diff -U1 src > next-build.patch && git checkout src && mv next-build.patch test/upgrade/`;

/** The files to copy. The next build uses the `node_modules` of this clone. */
const PARTS = ['src', 'bin', 'package.json', 'tsconfig.json'];

/** Makes the next build in a new directory, which the end of the test removes. */
export async function nextBuild(): Promise<string> {
  const root = await testDirectory();
  await makeNextBuild(root);
  return root;
}

/** @param root an empty directory */
export async function makeNextBuild(root: string): Promise<void> {
  for (const part of PARTS) await cp(join(ROOT, part), join(root, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  // Without this variable, `git apply` would use a repository that contains the directory.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) };
  const { status, stderr } = spawnSync('git', ['apply', PATCH], { cwd: root, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${stderr}${STALE}`);
}

/** Runs the service or a command of the build in `root`, as `runService` does for this build. */
export function runBuild(
  root: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Program {
  return run(process.execPath, [join(root, SERVICE[0]), ...args], { ...SERVICE_ENV, ...env }, root);
}
