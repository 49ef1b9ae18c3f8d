import { readFile, rm } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { afterDeath } from '../../test/support/after-death.ts';
import { Program, ROOT, SERVICE } from '../../test/support/process.ts';
import type { DiskEvent } from './disk-event.ts';
import { readTrace, STRACE_OPTIONS } from './read-trace.ts';

export const API_KEY = 'the-key-of-the-power-loss-proof';

/** One run of the service or of a command. */
export type Run = {
  readonly name: string;
  /** The database that the run works on. */
  readonly database: string;
  /** The numbers of its events, from `first` up to, but without, `end`. */
  readonly first: number;
  readonly end: number;
};

/** What happened to the files in a directory during several runs, one after another. */
export class Recording {
  readonly directory: string;
  readonly events: DiskEvent[] = [];
  readonly runs: Run[] = [];
  readonly #files = new Set<string>();

  /** @param directory an empty one, on a disk: a sync in memory is no sync */
  constructor(directory: string) {
    this.directory = realpathSync(directory);
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** Runs the service on a database, and kills or stops it after `use`. */
  async service(
    name: string,
    { database, inject = [], end }: ServiceRun,
    use: (url: string) => Promise<unknown>,
  ): Promise<void> {
    await this.#trace(name, database, ['serve'], inject, async (program) => {
      await use(await program.url());
      process.kill(await childOf(program.pid), end);
    });
  }

  /** Runs a command to its end. Then the pets, and the file, are there. */
  async command(
    name: string,
    database: string,
    args: readonly string[],
    { pets = [], written }: { readonly pets?: readonly string[]; readonly written?: string } = {},
  ): Promise<void> {
    await this.#trace(name, database, args, [], async () => {});
    if (pets.length > 0) this.events.push({ type: 'acknowledged', pets });
    if (written !== undefined) this.events.push({ type: 'written', path: this.path(written) });
    this.runs.push({ ...this.runs.pop()!, end: this.events.length });
  }

  async #trace(
    name: string,
    database: string,
    args: readonly string[],
    inject: readonly string[],
    use: (program: Program) => Promise<void>,
  ): Promise<void> {
    const output = `${this.directory}.trace`;
    const injections = inject.flatMap((what) => ['-e', `inject=${what}`]);
    const program = [process.execPath, join(ROOT, SERVICE[0]), ...args];
    const options = [...STRACE_OPTIONS, ...injections, '-o', output];
    const env = { API_KEYS: API_KEY, PORT: '0', LOG_LEVEL: 'info', DATABASE_URL: `sqlite:${database}` };
    const child = spawn('strace', [...options, ...program], {
      cwd: this.directory,
      detached: true,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    });
    const cleanUp = afterDeath(['kill', '-KILL', '--', `-${child.pid}`]);
    const running = new Program(child);
    await use(running);
    const { code } = await running.ended;
    cleanUp.cancel();
    if (args[0] !== 'serve' && code !== 0) throw new Error(`${name} failed: ${running.stderr}`);
    const first = this.events.length;
    this.events.push(...readTrace(await readFile(output, 'utf8'), this.directory, this.#files, first));
    await rm(output);
    this.runs.push({ name, database: this.path(database), first, end: this.events.length });
  }
}

/** The program that strace runs. */
async function childOf(pid: number): Promise<number> {
  return Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'));
}

type ServiceRun = {
  readonly database: string;
  /** What strace does to calls: https://man7.org/linux/man-pages/man1/strace.1.html */
  readonly inject?: readonly string[];
  /** How the service ends. */
  readonly end: 'SIGTERM' | 'SIGKILL';
};
