import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { afterDeath } from './after-death.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The arguments for `process.execPath` that run the service; a command or an option may follow. */
export const SERVICE = ['src/main/main.ts'] as const;

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Output = 'stdout' | 'stderr';

/** A program that leads a process group of its own. */
export class Program {
  readonly pid: number;
  /** Resolves when it has ended and everything that it printed is here. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #printed: Record<Output, string> = { stdout: '', stderr: '' };
  readonly #news = new EventEmitter();
  #over = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    // Undefined when it did not start: `ended` tells why.
    this.pid = child.pid ?? 0;
    for (const output of ['stdout', 'stderr'] as const) {
      child[output]?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed[output] += text;
        this.#news.emit('news');
      });
    }
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.#over = true;
      this.#news.emit('news');
      return { code, signal };
    });
  }

  get over(): boolean {
    return this.#over;
  }

  get stdout(): string {
    return this.#printed.stdout;
  }

  get stderr(): string {
    return this.#printed.stderr;
  }

  /** The log lines so far. */
  get log(): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** The first match in what it has printed, or will have. Rejects when it ends without one. */
  async printed(pattern: RegExp, output: Output = 'stdout'): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.#printed[output]);
      if (match !== null) return match;
      if (this.#over) {
        throw new Error(`ended without ${pattern} on ${output}:\n${this.stdout}\n${this.stderr}`);
      }
      await once(this.#news, 'news');
    }
  }

  /** The first log line with this message, now or later. */
  async logged(message: string | RegExp): Promise<Record<string, unknown>> {
    const text = typeof message === 'string' ? RegExp.escape(message) : message.source;
    const [line] = await this.printed(new RegExp(`^.*"msg":"${text}".*\\n`, 'm'));
    return JSON.parse(line);
  }

  /** Where it listens, once it does. */
  async url(): Promise<string> {
    return String((await this.logged(/listening on [^"]+/))['url']);
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** To this process alone. */
  signal(signal: NodeJS.Signals): void {
    if (!this.#over) process.kill(this.pid, signal);
  }

  /** Ends it together with everything that it has started. */
  async kill(): Promise<void> {
    // Also after its own end: what it has started may hold on to its output.
    if (this.pid !== 0) killGroup(this.pid);
    await this.ended;
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // Nobody of it is left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** What a program gets of this process's environment. No setting of the developer decides a test. */
const PASSED_ON = ['PATH', 'HOME', 'NODE_COMPILE_CACHE'];

/**
 * Starts a program in the project's root directory, with `env` and {@link PASSED_ON} as its environment. The program
 * and its descendants are killed when the running test ends.
 */
export function run(command: string, args: readonly string[], env: Record<string, string> = {}): Program {
  const child = spawn(command, args, {
    cwd: ROOT,
    detached: true,
    env: { ...Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])), ...env },
  });
  const program = new Program(child);
  const cleanUp = child.pid === undefined ? undefined : afterDeath(['kill', '-KILL', '--', `-${child.pid}`]);
  onTestFinished(async () => {
    await program.kill();
    cleanUp?.cancel();
  });
  return program;
}

/** The service itself. It takes a free port when `env` names none. */
export function runService(env: Record<string, string> = {}, args: readonly string[] = []): Program {
  return run(process.execPath, [...SERVICE, ...args], { PORT: '0', DATABASE_URL: 'memory:', ...env });
}
