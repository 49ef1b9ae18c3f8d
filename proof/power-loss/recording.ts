import { execFileSync, spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Program, ROOT, SERVICE } from '../../test/support/process.ts';
import { Disk, NO_LOSS } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { readTrace, STRACE_OPTIONS } from './read-trace.ts';

export const API_KEY = 'the-key-of-the-power-loss-proof';

/** The database of every run but a restore. */
export const DATABASE = 'petstore.db';

/** The name of a first run that stands for everything before. */
export const PAST = 'the past';

/** One run of the service or of a command. */
export type Run = {
  readonly name: string;
  /** The database that the run works on. */
  readonly database: string;
  /** The numbers of its events, from `first` up to, but without, `end`. */
  readonly first: number;
  readonly end: number;
};

/** A write-back that fails. */
export type Fault = {
  /** The index of the run. */
  readonly run: number;
  readonly file: string;
  /** The sync of the file that reports it, counted from 1. With 0, it fails after the run, and no program is told. */
  readonly at: number;
  /** Whether the kernel evicts the dropped pages when the run has ended. */
  readonly isEvicted: boolean;
  /** Compiled from failing-sync.c. */
  readonly library: string;
};

/** What happened to the files in a directory during several runs, one after another. */
export class Recording {
  readonly directory: string;
  readonly events: DiskEvent[] = [];
  readonly runs: Run[] = [];
  /** Why runs without a fault have failed. */
  readonly refusals: string[] = [];
  /** The directory of the build that runs, and that the next start has. */
  build = ROOT;
  readonly #fault: Fault | undefined;
  readonly #files = new Set<string>();

  /** @param directory on a disk: a sync in memory is no sync */
  constructor(directory: string, fault?: Fault) {
    this.directory = realpathSync(directory);
    this.#fault = fault;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /** Adds the files that are there already, as a first run that is on the disk, and the promises of these events. */
  async addPast(events: readonly DiskEvent[]): Promise<void> {
    for (const path of (await readdir(this.directory)).map((name) => this.path(name))) {
      this.#files.add(path);
      const bytes = await readFile(path);
      this.events.push({ type: 'create', path }, { type: 'write', path, offset: 0, bytes });
      this.events.push({ type: 'sync', path, covers: this.events.length });
    }
    this.events.push({ type: 'sync', path: this.directory, covers: this.events.length });
    this.events.push(...events.filter(({ type }) => type === 'acknowledged'));
    this.runs.push({ name: PAST, database: this.path(DATABASE), first: 0, end: this.events.length });
  }

  /**
   * Runs the service, and kills or stops it after `use`.
   *
   * @param inject what strace does to calls: https://man7.org/linux/man-pages/man1/strace.1.html
   */
  async service(
    name: string,
    end: 'SIGTERM' | 'SIGKILL',
    use: (url: string) => Promise<unknown>,
    inject: readonly string[] = [],
  ): Promise<void> {
    await this.#run(name, ['serve'], { inject }, async (program) => {
      await use(await program.url());
      process.kill(await childOf(program.pid), end);
    });
  }

  /** Runs a command to its end. If it succeeds, the promises begin. */
  async command(
    args: readonly string[],
    promises: readonly DiskEvent[] = [],
    database = DATABASE,
  ): Promise<void> {
    await this.#run(args.slice(0, 2).join(' '), args, { database, promises }, async (program) => {
      await program.succeeded();
    });
  }

  async #run(
    name: string,
    args: readonly string[],
    { database = DATABASE, inject = [] as readonly string[], promises = [] as readonly DiskEvent[] },
    use: (program: Program) => Promise<void>,
  ): Promise<void> {
    const fault = this.#fault?.run === this.runs.length ? this.#fault : undefined;
    const output = `${this.directory}.trace`;
    const injections = inject.flatMap((what) => ['-e', `inject=${what}`]);
    const options = [...STRACE_OPTIONS, ...injections, '-o', output];
    const env = { API_KEYS: API_KEY, PORT: '0', LOG_LEVEL: 'info', DATABASE_URL: `sqlite:${database}` };
    const { library, file = '', at } = fault ?? {};
    const failure = fault && { LD_PRELOAD: library, FAIL_FILE: this.path(file), FAIL_AT: `${at}` };
    const child = spawn('strace', [...options, process.execPath, join(this.build, SERVICE[0]), ...args], {
      cwd: this.directory,
      detached: true,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env, ...failure },
    });
    const running = new Program(child);
    let problem: string | undefined;
    try {
      await use(running);
    } catch (error) {
      problem = String(error);
    }
    if (problem === undefined) await running.ended;
    await running.kill();
    const first = this.events.length;
    this.events.push(...readTrace(await readFile(output, 'utf8'), this.directory, this.#files, first));
    await rm(output);
    if (problem === undefined) this.events.push(...promises);
    else if (fault === undefined) this.refusals.push(`${name} fails: ${problem}`);
    if (at === 0) this.events.push({ type: 'failed', path: this.path(file), covers: Infinity });
    if (fault?.isEvicted === true) this.#evict();
    this.runs.push({ name, database: this.path(database), first, end: this.events.length });
  }

  /** The kernel forgets what the failed write-back has dropped. Programs now read what is on the disk. */
  #evict(): void {
    const disk = new Disk();
    for (const [number, event] of this.events.entries()) disk.apply(event, number);
    this.events.push({ type: 'evicted' });
    const evicted = disk.afterLoss(NO_LOSS);
    for (const [path, bytes] of disk.cached()) {
      const left = evicted.get(path)!;
      if (left.equals(bytes)) continue;
      // Not in this process, which may read the file through SQLite: closing it here would release the locks of SQLite.
      execFileSync('dd', [`of=${path}`, 'conv=notrunc', 'status=none'], { input: left });
    }
  }
}

/** The program that strace runs. */
async function childOf(pid: number): Promise<number> {
  const child = Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'));
  if (child === 0) throw new Error('it has ended by itself');
  return child;
}
