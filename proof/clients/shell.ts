import { spawn } from 'node:child_process';
import { Program } from '../../test/support/process.ts';

export type ShellOptions = {
  readonly cwd: string;
  /** Variables that are added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

const MAX_OUTPUT_CHARACTERS = 6_000;

/**
 * Runs a command line. Resolves with its standard output, after every process that the command started has ended.
 *
 * @throws {Error} when the command fails or takes longer than `timeoutMs`. The message has the end of the output
 */
export async function shell(command: string, { cwd, env, timeoutMs }: ShellOptions): Promise<string> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const program = new Program(child);
  const timer = setTimeout(() => void program.kill(), timeoutMs);
  const { code, signal } = await program.ended;
  clearTimeout(timer);
  await program.kill();
  if (code === 0) return program.stdout;
  const end = signal === null ? `exit code ${code}` : `${signal}, after at most ${timeoutMs} ms`;
  const output = `${program.stdout}\n${program.stderr}`.slice(-MAX_OUTPUT_CHARACTERS);
  throw new Error(`${command}\nended with ${end}:\n${output}`);
}
