import { expect } from 'vitest';
import { Interrupted, type Io } from '../../src/main/program/process.ts';
import { run } from '../../src/main/command-line/run.ts';
import { serve } from '../../src/main/service/serve.ts';
import { STORAGES } from '../../src/main/config/storages.ts';
import { withoutProgress } from './without-progress.ts';

type Env = Readonly<Record<string, string>>;

/** In place of the two streams, the empty input, the storages, and a SIGHUP that does nothing. */
type Others = Partial<Pick<Io, 'stdout' | 'stderr' | 'stdin' | 'storages' | 'onHangUp'>>;

/** A command that runs in this process, in an environment that holds nothing but `env`. */
export class Command {
  /** Resolves with the exit code. */
  readonly ended: Promise<number | undefined>;
  readonly #interruption = new AbortController();
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], env: Env, others: Others = {}) {
    this.ended = run(args, {
      env: { PORT: '0', DATABASE_URL: 'memory:', ...env },
      stdout: streamOf((text) => (this.#stdout += text)),
      stderr: streamOf((text) => (this.#stderr += text)),
      stdin: () => inputOf(''),
      signal: this.#interruption.signal,
      onHangUp: () => undefined,
      storages: STORAGES,
      serve,
      ...others,
    });
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return withoutProgress(this.#stderr);
  }

  interrupt(signal: Interrupted['signal']): void {
    this.#interruption.abort(new Interrupted(signal));
  }
}

/** A stream calls back later, never at once. */
function streamOf(take: (text: string) => void): Io['stdout'] {
  return {
    write(text, callback) {
      take(text);
      if (callback !== undefined) setImmediate(callback);
    },
  };
}

/** A standard output on a full disk. */
export const FULL: Io['stdout'] = { write: (_, callback) => callback?.(new Error('the disk is full')) };

/** Standard input with this text, in small pieces. */
export async function* inputOf(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
}

export const FAILED = 1;
export const USAGE = 2;

const ending =
  (code: number) =>
  async (args: readonly string[], env: Env = {}, others: Others = {}) => {
    const command = new Command(args, env, others);
    expect(await command.ended, command.stderr).toBe(code);
    return command;
  };

/** Runs a command that must exit with 0. */
export const succeeds = ending(0);

/** Runs a command that must exit with 1. */
export const fails = ending(FAILED);

/** Runs a command that must be refused in one line, or with a matching text, and print nothing else. */
export async function refused(
  args: readonly string[],
  message: string | RegExp,
  { env = {}, code = FAILED }: { readonly env?: Env; readonly code?: number } = {},
): Promise<void> {
  const command = new Command(args, env);
  expect(await command.ended).toBe(code);
  if (typeof message === 'string') expect(command.stderr).toBe(`petstore: ${message}\n`);
  else expect(command.stderr).toMatch(message);
  expect(command.stdout).toBe('');
}
