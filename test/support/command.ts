import { expect } from 'vitest';
import { Interrupted, type Io } from '../../src/main/program/process.ts';
import { run } from '../../src/main/command-line/run.ts';
import { serve } from '../../src/main/service/serve.ts';
import { STORAGES } from '../../src/main/config/storages.ts';
import { withoutProgress } from './without-progress.ts';

type Env = Readonly<Record<string, string>>;

/**
 * Replacements for the defaults. By default, both outputs are recorded, the input is empty, all kinds of storage are
 * available, and `setHangUpAction` does nothing.
 */
type Replacements = Partial<Pick<Io, 'stdout' | 'stderr' | 'stdin' | 'storages' | 'setHangUpAction'>>;

/** A command that runs in this process. By default, a service in it has a free port and an in-memory storage. */
export class Command {
  /** Resolves with the exit code. */
  readonly ended: Promise<number | undefined>;
  readonly #interruption = new AbortController();
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], env: Env, replacements: Replacements = {}) {
    this.ended = run(args, {
      env: { PORT: '0', DATABASE_URL: 'memory:', ...env },
      stdout: streamOf((text) => (this.#stdout += text)),
      stderr: streamOf((text) => (this.#stderr += text)),
      stdin: () => inputOf(''),
      signal: this.#interruption.signal,
      setHangUpAction: () => undefined,
      storages: STORAGES,
      serve,
      ...replacements,
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

/** A stream that passes each text to `take`. Like a real stream, `write` returns before `callback` runs. */
function streamOf(take: (text: string) => void): Io['stdout'] {
  return {
    write(text, callback) {
      take(text);
      if (callback !== undefined) setImmediate(callback);
    },
  };
}

/** A standard output on a full disk: each write fails. */
export const FULL_DISK: Io['stdout'] = { write: (_, callback) => callback?.(new Error('the disk is full')) };

/** A standard input with this text, in pieces of at most 1,000 bytes. */
export async function* inputOf(text: string | Uint8Array): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += 1000) yield bytes.subarray(start, start + 1000);
}

/** The exit code of a command that failed. */
export const FAILED = 1;
/** The exit code of a command with wrong arguments. */
export const USAGE = 2;

/** Returns a function that runs a command, and expects that the command ends with this exit code. */
const runnerExpecting =
  (code: number) =>
  async (args: readonly string[], env: Env = {}, replacements: Replacements = {}) => {
    const command = new Command(args, env, replacements);
    expect(await command.ended, command.stderr).toBe(code);
    return command;
  };

/** Runs a command that must exit with 0. */
export const runCommand = runnerExpecting(0);

/** Runs a command that must exit with 1. */
export const runFailing = runnerExpecting(FAILED);

/**
 * Runs a command that must fail, and must write nothing to standard output. If `message` is a string, the command must
 * write only the line `petstore: MESSAGE` to standard error. If `message` is a regular expression, it must match the
 * text on standard error.
 */
export async function expectRefusal(
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
