import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { runAtProcessEnd } from '../support/after-death.ts';
import { isExecutable } from '../support/mongod-binary.ts';
import { type Program, run } from '../support/process.ts';

const runFile = promisify(execFile);

/**
 * Runs a docker command, and returns its standard output.
 *
 * @throws when the command fails. The error contains what the command printed
 */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await runFile('docker', args, { maxBuffer: 64 * 2 ** 20 });
  return stdout.trim();
}

/** Docker 23 and later print this when the plugin for builds is missing. Older versions need no plugin. */
const NO_BUILDX = 'buildx component is missing';

/**
 * Builds an image with BuildKit. Uses the first docker on PATH that is able to do this.
 *
 * @throws when the build fails. The error contains the last lines that the build printed
 */
export async function dockerBuild(...args: readonly string[]): Promise<void> {
  const env = { ...process.env, DOCKER_BUILDKIT: '1' };
  let lastLines = 'no docker on PATH';
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'docker');
    if (!(await isExecutable(path))) continue;
    const build = runFile(path, ['build', ...args], { env, maxBuffer: 64 * 2 ** 20 });
    const failure = await build.then(() => undefined, String);
    if (failure === undefined) return;
    // The failed step prints the last lines. Earlier steps print hundreds of lines.
    lastLines = failure.trim().split('\n').slice(-20).join('\n');
    if (!lastLines.includes(NO_BUILDX)) break;
  }
  throw new Error(`docker build failed:\n${lastLines}`);
}

/** Why no container can be started on this machine, or `undefined` if a Docker engine answers. */
export async function dockerProblem(): Promise<string | undefined> {
  return docker('version').then(
    () => undefined,
    () => 'no Docker engine answers: install and start one',
  );
}

/** Runs a docker command that removes an image, a container or a volume when this process ends. */
export function removeLater(...command: readonly string[]): void {
  runAtProcessEnd(['docker', ...command]);
}

/** Runs `docker run` in the foreground. The container is removed when the running test ends. */
export function runContainer(
  image: string,
  { flags = [], args = [] }: { readonly flags?: readonly string[]; readonly args?: readonly string[] } = {},
): { readonly name: string; readonly program: Program } {
  const name = `petstore-tests-${randomUUID()}`;
  const remove = ['rm', '--force', '--volumes', name];
  const cleanUp = runAtProcessEnd(['docker', ...remove]);
  const program = run('docker', ['run', '--name', name, ...flags, image, ...args]);
  onTestFinished(async () => {
    await docker(...remove);
    cleanUp.cancel();
  });
  return { name, program };
}
