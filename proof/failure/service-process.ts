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
  /** A file or a pipe for its standard output. This process then does not read it. */
  readonly logPath?: string;
};

/** The resources that a process holds. */
export type Footprint = { readonly rssMiB: number; readonly sockets: number };

/** The service as its users run it. It keeps its port when it is started again. */
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

  /** Resolves when the service is ready. */
  async start(): Promise<void> {
    const program = this.#spawn();
    await until(`a ready service at ${this.url}`, async () => {
      if (program.hasEnded) throw new Error(`the service ended at once: ${program.stderr}${program.stdout}`);
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

  /** The lines of the log so far at the level `error` or above. */
  get errors(): string {
    return this.#lines.filter((line) => !line.startsWith('{"level":40,')).join('\n');
  }

  /** The messages of its warnings so far. It has them with `LOG_LEVEL=warn`. */
  get warnings(): readonly string[] {
    const warnings = this.#lines.filter((line) => line.startsWith('{"level":40,'));
    return warnings.map((line) => (JSON.parse(line) as { readonly msg: string }).msg);
  }

  /** Audit lines are logged at every level. */
  get #lines(): readonly string[] {
    const lines = this.#program?.stdout.match(/^.+$/gm) ?? [];
    return lines.filter((line) => !line.includes('"audit":'));
  }

  /** The times of its log lines so far, in milliseconds by its own clock. */
  get logTimesMs(): readonly number[] {
    return [...(this.#program?.stdout ?? '').matchAll(/^\{"level":\d+,"time":(\d+),/gm)].map(([, ms]) =>
      Number(ms),
    );
  }

  get isRunning(): boolean {
    return this.#program !== undefined && !this.#program.hasEnded;
  }

  /** Works with the module of `jumping-clock.ts` only. */
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

  /** Linux only. */
  async footprint(): Promise<Footprint> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
    const rss = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
    const files = await readdir(`/proc/${this.pid}/fd`);
    // A descriptor may be closed between the two calls.
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
