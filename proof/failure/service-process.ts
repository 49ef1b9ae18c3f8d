import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { type Ended, Program, ROOT, SERVICE } from '../../test/support/process.ts';
import { ask } from './ask.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export const API_KEY = 'the-key-of-the-failure-suite';
export const AUTHORIZATION = { authorization: `Bearer ${API_KEY}` };

export type Env = Readonly<Record<string, string>>;

export type ServiceOptions = {
  /** A file or a pipe for the standard output of the service. With this option, `errors` and `warnings` are empty. */
  readonly logPath?: string;
};

/** The resources that a process holds. */
export type Footprint = { readonly rssMiB: number; readonly sockets: number };

/** A process of the service, as an operator runs it. The service keeps its port when it is started again. */
export class ServiceProcess implements AsyncDisposable {
  readonly url: string;
  readonly #env: Env;
  readonly #options: ServiceOptions;
  #program: Program | undefined;

  private constructor(port: number, env: Env, options: ServiceOptions) {
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
    this.#env = { API_KEYS: API_KEY, LOG_LEVEL: 'error', PORT: `${port}`, ...env };
  }

  static async start(env: Env, options: ServiceOptions = {}): Promise<ServiceProcess> {
    const service = new ServiceProcess(await freePort(), env, options);
    await service.start();
    return service;
  }

  /** Starts the process. Resolves when `/readyz` answers 200. */
  async start(): Promise<void> {
    const program = this.#spawn();
    await until(`a ready service at ${this.url}`, async () => {
      if (program.hasEnded) throw new Error(`the service ended early: ${program.stderr}${program.stdout}`);
      const answer = await ask(`${this.url}/readyz`).catch(() => undefined);
      return answer?.status === 200;
    });
  }

  get databaseUrl(): string {
    return this.#env['DATABASE_URL'] ?? '';
  }

  get pid(): number {
    if (this.#program === undefined) throw new Error('the service was never started');
    return this.#program.pid;
  }

  /** The log lines so far, without warnings and audit lines. With `LOG_LEVEL=error` or `warn`, only errors remain. */
  get errors(): string {
    return this.#lines.filter((line) => !line.startsWith('{"level":40,')).join('\n');
  }

  /** The messages of the warnings so far. The service logs them only with `LOG_LEVEL=warn` or a lower level. */
  get warnings(): readonly string[] {
    const warnings = this.#lines.filter((line) => line.startsWith('{"level":40,'));
    return warnings.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
  }

  /** The log lines so far, without the audit lines, which the service logs at every `LOG_LEVEL`. */
  get #lines(): readonly string[] {
    const lines = this.#program?.stdout.match(/^.+$/gm) ?? [];
    return lines.filter((line) => !line.includes('"audit":'));
  }

  /** The times of the log lines so far, in milliseconds of the clock of the service. */
  get logTimesMs(): readonly number[] {
    return [...(this.#program?.stdout ?? '').matchAll(/^\{"level":\d+,"time":(\d+),/gm)].map(([, ms]) =>
      Number(ms),
    );
  }

  get isRunning(): boolean {
    return this.#program !== undefined && !this.#program.hasEnded;
  }

  /** Moves the clock of the service. The service must have been started with `--import` of `jumping-clock.ts`. */
  moveClock(): void {
    process.kill(this.pid, 'SIGUSR2');
  }

  async kill(): Promise<void> {
    await this.#program?.kill();
  }

  /** Sends SIGTERM. Resolves when the service has drained and ended. */
  async terminate(): Promise<Ended> {
    this.#program?.signal('SIGTERM');
    const ended = await this.#program?.ended;
    await this.kill();
    return ended ?? { code: null, signal: null };
  }

  /** Reads `/proc`, which only Linux has. */
  async footprint(): Promise<Footprint> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
    const rss = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
    const files = await readdir(`/proc/${this.pid}/fd`);
    // A descriptor may be closed between `readdir` and `readlink`.
    const targets = files.map((file) => readlink(`/proc/${this.pid}/fd/${file}`).catch(() => ''));
    const sockets = (await Promise.all(targets)).filter((target) => target.startsWith('socket:')).length;
    return { rssMiB: Math.round(rss / 1024), sockets };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #spawn(): Program {
    const { logPath } = this.#options;
    const log = logPath === undefined ? undefined : openSync(logPath, 'a');
    const child = spawn(process.execPath, [...SERVICE], {
      cwd: ROOT,
      detached: true,
      stdio: ['pipe', log ?? 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...this.#env },
    });
    if (log !== undefined) closeSync(log);
    this.#program = new Program(child);
    return this.#program;
  }
}
