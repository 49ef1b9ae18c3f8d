import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { resolve } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runAtProcessEnd } from './after-death.ts';
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

/** A running program, which leads a process group. When the test process ends, the whole group is killed. */
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
    // `child.pid` is undefined if the program could not be started. `ended` then rejects.
    this.pid = child.pid ?? 0;
    this.#cleanUp =
      child.pid === undefined ? undefined : runAtProcessEnd(['kill', '-KILL', '--', `-${child.pid}`]);
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

  /** Waits until the program ends. It must end with the exit code 0. Resolves with its standard output. */
  async succeeded(): Promise<string> {
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`ended with ${code ?? signal}:\n${this.stderr}`);
    return this.stdout;
  }

  /** The log lines that the program has printed so far. */
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
    // The group is killed even if the program has ended, because a descendant may keep the output open.
    if (this.pid !== 0) killGroup(this.pid);
    await this.ended;
    this.#cleanUp?.cancel();
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    // ESRCH: no process of the group is left.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** The only variables that a program inherits from this process, so that no setting of a developer changes a test. */
const ENV_NAMES = ['PATH', 'HOME'];

/**
 * Starts a program with `env` and {@link ENV_NAMES} as its environment, by default in the project's root directory. The
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
    // If SHLVL were not set, bash would read the developer's .bashrc, because its input is a socket.
    env: { ...Object.fromEntries(ENV_NAMES.map((name) => [name, process.env[name]])), SHLVL: '1', ...env },
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

/** A value for NODE_OPTIONS, with which Node runs this code before the service. */
export function preload(code: string): string {
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

/** A value for NODE_OPTIONS, with which Node reports an old version. */
export const OLD_NODE_VERSION = preload('Object.defineProperty(process, "version", { value: "v20.20.2" })');

/**
 * A value for NODE_OPTIONS, with which Node appends the URL of each loaded module to a file. The variable MODULES has
 * the path of the file. Lines on standard error would come too late, or would be lost when the process ends.
 */
export const LIST_MODULES = preload(`
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({ load(url, context, next) {
    appendFileSync(process.env.MODULES, url + '\\n');
    return next(url, context);
  } });`);

/** Environment variables of a service whose SHUTDOWN_DELAY ends when the service receives SIGUSR2. */
export const DELAY_UNTIL_SIGUSR2 = {
  SHUTDOWN_DELAY: '1h',
  NODE_OPTIONS: preload(`
    const { setTimeout } = globalThis;
    globalThis.setTimeout = (run, ms, ...args) =>
      ms === 3_600_000 ? process.once('SIGUSR2', run) : setTimeout(run, ms, ...args);`),
} as const;

/** The default environment variables of a service: a free port, and pets in memory. */
export const SERVICE_ENV: Readonly<Record<string, string>> = {
  PORT: '0',
  DATABASE_URL: 'memory:',
  ...(SPEAKS_TLS && { TLS_CERT: PEM_FILES.cert, TLS_KEY: PEM_FILES.key }),
};

/** Runs the service with {@link SERVICE_ENV}. The variables in `env` replace those of the same name. */
export function runService(env: Record<string, string> = {}, args: readonly string[] = []): Program {
  return run(process.execPath, [...SERVICE, ...args], { ...SERVICE_ENV, ...env });
}

/** Like {@link runService}, with JOURNAL_STREAM as systemd sets it when standard error goes to the journal. */
export function runInJournal(env: Record<string, string>): Program {
  const node = `'${process.execPath}'`;
  const name = `${node} -p "const { dev, ino } = fs.fstatSync(2); dev + ':' + ino"`;
  const command = `JOURNAL_STREAM=$(${name}) exec ${node} ${SERVICE.join(' ')}`;
  return run('bash', ['-c', command], { ...SERVICE_ENV, ...env });
}
