import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { afterDeath } from '../support/after-death.ts';
import { type Ended, Program, ROOT, SERVICE } from '../support/process.ts';
import { ask } from './ask.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export const API_KEY = 'the-key-of-the-failure-suite';

type Env = Readonly<Record<string, string>>;

/** What a process holds. */
export type Footprint = { readonly rssMiB: number; readonly sockets: number };

/** The service as its users run it, on a port that it keeps when it is started again. */
export class ServiceProcess implements AsyncDisposable {
  readonly url: string;
  readonly #env: Env;
  readonly #user: number | undefined;
  readonly #log: string | undefined;
  #program: Program | undefined;
  #cleanUp: { cancel(): void } | undefined;

  private constructor(port: number, env: Env, user?: number, log?: string) {
    this.url = `http://127.0.0.1:${port}`;
    this.#user = user;
    this.#log = log;
    this.#env = { API_KEYS: API_KEY, LOG_LEVEL: 'error', PORT: `${port}`, ...env };
  }

  /**
   * @param user the id of a user to run it as, which needs root
   * @param log the path of a file or a pipe for its standard output, which is not read here then
   */
  static async start(env: Env, user?: number, log?: string): Promise<ServiceProcess> {
    const service = new ServiceProcess(await freePort(), env, user, log);
    await service.start();
    return service;
  }

  /** A start that is expected to be refused: how it ends, and what it says. */
  static async refused(env: Env, user?: number): Promise<Ended & { readonly stderr: string }> {
    const service = new ServiceProcess(await freePort(), env, user);
    await using _ = service;
    const program = service.#spawn();
    await until('the end of a service that cannot start', () => (program.hasEnded ? true : undefined));
    return { ...(await program.ended), stderr: program.stderr };
  }

  /** Returns when it is ready. */
  async start(): Promise<void> {
    const program = this.#spawn();
    await until(`a ready service at ${this.url}`, async () => {
      if (program.hasEnded) throw new Error(`the service ended at once: ${program.stderr}${program.stdout}`);
      const answer = await ask(`${this.url}/readyz`).catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    });
  }

  get pid(): number {
    if (this.#program === undefined) throw new Error('the service was never started');
    return this.#program.pid;
  }

  /** The lines of its log so far, from the level `error` on. */
  get errors(): string {
    // The audit of what was done is there at every level.
    const lines = this.#program?.stdout.match(/^.+$/gm) ?? [];
    return lines.filter((line) => !line.includes('"audit":')).join('\n');
  }

  get runs(): boolean {
    return this.#program !== undefined && !this.#program.hasEnded;
  }

  async kill(): Promise<void> {
    await this.#program?.kill();
    this.#cleanUp?.cancel();
  }

  /** SIGTERM. Returns when it has drained and ended. */
  async terminate(): Promise<Ended> {
    this.#program?.signal('SIGTERM');
    const ended = await this.#program?.ended;
    this.#cleanUp?.cancel();
    return ended ?? { code: null, signal: null };
  }

  /** On Linux only. */
  async footprint(): Promise<Footprint> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
    const rss = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
    const files = await readdir(`/proc/${this.pid}/fd`);
    // One may be closed between the two calls.
    const targets = files.map((file) => readlink(`/proc/${this.pid}/fd/${file}`).catch(() => ''));
    const sockets = (await Promise.all(targets)).filter((target) => target.startsWith('socket:')).length;
    return { rssMiB: Math.round(rss / 1024), sockets };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #spawn(): Program {
    const log = this.#log === undefined ? undefined : openSync(this.#log, 'a');
    const child = spawn(process.execPath, [...SERVICE], {
      cwd: ROOT,
      detached: true,
      stdio: ['pipe', log ?? 'pipe', 'pipe'],
      ...(this.#user !== undefined && { uid: this.#user, gid: this.#user }),
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...this.#env },
    });
    if (log !== undefined) closeSync(log);
    this.#program = new Program(child);
    this.#cleanUp = afterDeath(['kill', '-KILL', '--', `-${child.pid}`]);
    return this.#program;
  }
}
