import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { afterDeath } from './after-death.ts';
import { PEM_FILES, SPEAKS_TLS } from './tls/pem-files.ts';
import { waitFor } from './wait-for.ts';
import { withoutProgress } from './without-progress.ts';

export const ROOT = resolve(import.meta.dirname, '../..');

/** The arguments for `process.execPath` that run the service. A command or an option may follow. */
export const SERVICE = ['bin/petstore.js'] as const;

export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export const DONE: Ended = { code: 0, signal: null };
export const FAILED: Ended = { code: 1, signal: null };

export type Output = 'stdout' | 'stderr';

/** A running program, the leader of its process group. The group does not outlive this process. */
export class Program {
  readonly pid: number;
  /** Resolves when the program has ended and all of its output has been read. */
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #printed: Record<Output, string> = { stdout: '', stderr: '' };
  readonly #news = new EventEmitter();
  readonly #cleanUp: { cancel(): void } | undefined;
  #hasEnded = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    // Undefined when the program did not start: `ended` then rejects.
    this.pid = child.pid ?? 0;
    this.#cleanUp =
      child.pid === undefined ? undefined : afterDeath(['kill', '-KILL', '--', `-${child.pid}`]);
    for (const output of ['stdout', 'stderr'] as const) {
      child[output]?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed[output] += text;
        this.#news.emit('news');
      });
    }
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.#hasEnded = true;
      this.#news.emit('news');
      return { code, signal };
    });
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  get stdout(): string {
    return this.#printed.stdout;
  }

  get stderr(): string {
    return withoutProgress(this.#printed.stderr);
  }

  /** Waits for its end, which must be a success. Resolves with its standard output. */
  async succeeded(): Promise<string> {
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`ended with ${code ?? signal}:\n${this.stderr}`);
    return this.stdout;
  }

  /** The log lines so far. */
  get log(): Record<string, unknown>[] {
    return this.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  }

  /** Waits for the first match in an output. Rejects when the program ends without one. */
  printed(pattern: RegExp, output: Output = 'stdout'): Promise<RegExpExecArray> {
    return waitFor(this.#news, 'news', () => {
      const match = pattern.exec(this.#printed[output]) ?? undefined;
      if (match === undefined && this.#hasEnded) {
        throw new Error(`ended without ${pattern} on ${output}:\n${this.stdout}\n${this.stderr}`);
      }
      return match;
    });
  }

  /** Waits for the first log line with this message. */
  async logged(message: string | RegExp): Promise<Record<string, unknown>> {
    const text = typeof message === 'string' ? RegExp.escape(message) : message.source;
    const [line] = await this.printed(new RegExp(`^.*"msg":"${text}".*\\n`, 'm'));
    return JSON.parse(line);
  }

  /** Waits until the service listens. Resolves with its URL. */
  async url(): Promise<string> {
    return String((await this.logged(/listening on [^"]+/))['url']);
  }

  write(text: string): void {
    this.#child.stdin?.write(text);
  }

  /** Sends a signal to the program, not to its process group. */
  signal(signal: NodeJS.Signals): void {
    if (!this.#hasEnded) process.kill(this.pid, signal);
  }

  /** Kills the program and its descendants. */
  async kill(): Promise<void> {
    // Even after its end: a descendant may keep its output open.
    if (this.pid !== 0) killGroup(this.pid);
    await this.ended;
    this.#cleanUp?.cancel();
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // No process of the group is left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** What a program gets of this process's environment. No setting of the developer decides a test. */
const PASSED_ON = ['PATH', 'HOME'];

/**
 * Starts a program with `env` and {@link PASSED_ON} as its environment, by default in the project's root directory. The
 * program and its descendants are killed when the running test ends.
 */
export function run(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
  cwd: string = ROOT,
): Program {
  const child = spawn(command, args, {
    cwd,
    detached: true,
    // A first shell reads the developer's .bashrc, because its input is a socket.
    env: { ...Object.fromEntries(PASSED_ON.map((name) => [name, process.env[name]])), SHLVL: '1', ...env },
  });
  const program = new Program(child);
  onTestFinished(() => program.kill());
  return program;
}

/** Stops a service, which must end with 0. */
export async function stop(service: Program): Promise<void> {
  service.signal('SIGTERM');
  expect(await service.ended, service.stderr).toStrictEqual(DONE);
}

/** For NODE_OPTIONS: a module that the service loads first. */
export function preload(code: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

/** For NODE_OPTIONS. */
export const PRETENDS_TO_BE_OLD = preload('Object.defineProperty(process, "version", { value: "v20.20.2" })');

/**
 * For NODE_OPTIONS: writes the URL of each module that is loaded to the file of the variable MODULES. Standard error
 * would come too late, or would be lost when the process ends.
 */
export const LIST_MODULES = preload(`
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    appendFileSync(process.env.MODULES, url + '\\n');
    return next(url, context);
  } });`);

/** For a service whose SHUTDOWN_DELAY ends on SIGUSR2. */
export const LONG_DELAY = {
  SHUTDOWN_DELAY: '1h',
  NODE_OPTIONS: preload(`
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (run, ms, ...args) =>
      ms === 3_600_000 ? process.once('SIGUSR2', run) : setTimeout(run, ms, ...args);`),
} as const;

/** A free port, and pets in memory. */
export const SERVICE_ENV: Readonly<Record<string, string>> = {
  PORT: '0',
  DATABASE_URL: 'memory:',
  ...(SPEAKS_TLS && { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key }),
};

/** Runs the service: with {@link SERVICE_ENV}, unless `env` says otherwise. */
export function runService(env: Record<string, string> = {}, args: readonly string[] = []): Program {
  return run(process.execPath, [...SERVICE, ...args], { ...SERVICE_ENV, ...env });
}

/** {@link runService} with a standard error that systemd would call its journal. */
export function runInJournal(env: Record<string, string>): Program {
  const node = `'${process.execPath}'`;
  const name = `${node} -p "const { dev, ino } = fs.fstatSync(2); dev + ':' + ino"`;
  const command = `JOURNAL_STREAM=$(${name}) exec ${node} ${SERVICE.join(' ')}`;
  return run('bash', ['-c', command], { ...SERVICE_ENV, ...env });
}
