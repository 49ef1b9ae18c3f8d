import { execFileSync, spawn } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Program, ROOT, SERVICE } from '../../test/support/process.ts';
import { Disk, NO_LOSS } from './disk.ts';
import type { DiskEvent } from './disk-event.ts';
import { readTrace, STRACE_OPTIONS } from './read-trace.ts';

export const API_KEY = 'the-key-of-the-power-loss-proof';

/** The name of the database file in every run. Only a restore has another name for its new file. */
export const DATABASE = 'petstore.db';

/** The name of the first run in the recording of a life. This run stands for all runs before the life. */
export const PAST_RUNS = 'the past runs';

/** One run of the service, or of one of its commands. */
export type Run = {
  readonly name: string;
  /** The path of the database that the run uses. */
  readonly database: string;
  /** The events of the run have the numbers from `first` to `end` - 1. */
  readonly first: number;
  readonly end: number;
};

/** A write-back (the kernel writes cached pages to the disk) that fails. */
export type Fault = {
  /** The index of the run in which the write-back fails. */
  readonly run: number;
  readonly file: string;
  /**
   * The write-back fails in this sync of the file, counted from 1. With 0, it fails after the run, and no program
   * receives the error.
   */
  readonly sync: number;
  /**
   * Whether the cache loses the new content of the failed pages after the run (an eviction). Before that, programs
   * still read the new content.
   */
  readonly isEvicted: boolean;
  /** The path of the compiled failing-sync.c. */
  readonly library: string;
};

/** Records what several runs, one after another, do to the files in a directory. */
export class Recording {
  readonly directory: string;
  readonly events: DiskEvent[] = [];
  readonly runs: Run[] = [];
  /** One error for each failed run. The run with the fault is not counted, because it may fail. */
  readonly failures: string[] = [];
  /** The directory of the build that is run. It also opens the states after a power cut. */
  build = ROOT;
  readonly #fault: Fault | undefined;
  readonly #knownFiles = new Set<string>();

  /** @param directory is on a real disk, because a sync of a directory in memory does nothing */
  constructor(directory: string, fault?: Fault) {
    this.directory = realpathSync(directory);
    this.#fault = fault;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  /**
   * Adds one run that stands for all runs before the life. It creates and syncs the files that the directory has, and
   * repeats the acknowledged pets of `events`.
   */
  async addPastRuns(events: readonly DiskEvent[]): Promise<void> {
    for (const path of (await readdir(this.directory)).map((name) => this.path(name))) {
      this.#knownFiles.add(path);
      const bytes = await readFile(path);
      this.events.push({ type: 'create', path }, { type: 'write', path, offset: 0, bytes });
      this.events.push({ type: 'sync', path, coversBefore: this.events.length });
    }
    this.events.push({ type: 'sync', path: this.directory, coversBefore: this.events.length });
    this.events.push(...events.filter(({ type }) => type === 'acknowledged'));
    this.runs.push({ name: PAST_RUNS, database: this.path(DATABASE), first: 0, end: this.events.length });
  }

  /**
   * Starts the service, calls `use`, and then kills or stops the service.
   *
   * @param end the signal that ends the service
   * @param inject values of the option `inject` of strace: https://man7.org/linux/man-pages/man1/strace.1.html
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

  /**
   * Runs a command of the service to its end.
   *
   * @param eventsAfter events to add if the command succeeds: the pets and files that must be there from then on
   */
  async command(
    args: readonly string[],
    eventsAfter: readonly DiskEvent[] = [],
    database = DATABASE,
  ): Promise<void> {
    await this.#run(args.slice(0, 2).join(' '), args, { database, eventsAfter }, async (program) => {
      await program.succeeded();
    });
  }

  async #run(
    name: string,
    args: readonly string[],
    { database = DATABASE, inject = [] as readonly string[], eventsAfter = [] as readonly DiskEvent[] },
    use: (program: Program) => Promise<void>,
  ): Promise<void> {
    const fault = this.#fault?.run === this.runs.length ? this.#fault : undefined;
    const traceFile = `${this.directory}.trace`;
    const injections = inject.flatMap((what) => ['-e', `inject=${what}`]);
    const options = [...STRACE_OPTIONS, ...injections, '-o', traceFile];
    const env = { API_KEYS: API_KEY, PORT: '0', LOG_LEVEL: 'info', DATABASE_URL: `sqlite:${database}` };
    const { library, file = '', sync } = fault ?? {};
    const failure = fault && { LD_PRELOAD: library, FAIL_FILE: this.path(file), FAIL_AT: `${sync}` };
    const child = spawn('strace', [...options, process.execPath, join(this.build, SERVICE[0]), ...args], {
      cwd: this.directory,
      detached: true,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env, ...failure },
    });
    const program = new Program(child);
    let failureText: string | undefined;
    try {
      await use(program);
    } catch (error) {
      failureText = String(error);
    }
    if (failureText === undefined) await program.ended;
    await program.kill();
    const first = this.events.length;
    const trace = await readFile(traceFile, 'utf8');
    this.events.push(...readTrace(trace, this.directory, this.#knownFiles, first));
    await rm(traceFile);
    if (failureText === undefined) this.events.push(...eventsAfter);
    else if (fault === undefined) this.failures.push(`${name} fails: ${failureText}`);
    if (sync === 0) this.events.push({ type: 'failed', path: this.path(file), coversBefore: Infinity });
    if (fault?.isEvicted === true) this.#evict();
    this.runs.push({ name, database: this.path(database), first, end: this.events.length });
  }

  /** The cache loses the new content of the failed pages. The real files get the content that the disk has. */
  #evict(): void {
    const disk = new Disk();
    for (const [number, event] of this.events.entries()) disk.apply(event, number);
    this.events.push({ type: 'evicted' });
    const filesOnDisk = disk.afterLoss(NO_LOSS);
    for (const [path, bytes] of disk.cached()) {
      const diskBytes = filesOnDisk.get(path)!;
      if (diskBytes.equals(bytes)) continue;
      // Another process writes the file. If this process opened and closed the file, it would release the locks of its
      // own SQLite connections.
      execFileSync('dd', [`of=${path}`, 'conv=notrunc', 'status=none'], { input: diskBytes });
    }
  }
}

/** The process id of the program that strace has started. */
async function childOf(pid: number): Promise<number> {
  const child = Number(await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'));
  if (child === 0) throw new Error('the program has ended before its signal');
  return child;
}
