import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import { type RunningMongod, runMongod } from '../../test/support/mongod-process.ts';
import { until } from './until.ts';

/** Short timeouts: the harness cannot wait for a member that hangs. */
const OPTIONS = {
  directConnection: true,
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 1_000,
  appName: 'harness',
  promoteLongs: false,
} as const;

const HELLO_TIMEOUT_MS = 1_000;

export type MemberOptions = {
  readonly directory: string;
  readonly port: number;
  /** The name of the replica set. */
  readonly set: string;
  /** The port of a {@link Bridge} in front of it, `port` by default. */
  readonly reachedAt?: number | undefined;
  /** The path of the library, for {@link Member.setClock}. */
  readonly libfaketime?: string | undefined;
};

/** A mongod of a replica set. It can be killed, frozen, and started again on its data. */
export class Member implements AsyncDisposable {
  /** Where the other members and the services reach it. */
  readonly address: string;
  readonly #directory: string;
  readonly #port: number;
  readonly #args: readonly string[];
  readonly #libfaketime: string | undefined;
  #process: RunningMongod | undefined;
  #client: MongoClient | undefined;
  #frozen = false;

  constructor({ directory, port, set, reachedAt = port, libfaketime }: MemberOptions) {
    this.#directory = directory;
    this.#port = port;
    this.#libfaketime = libfaketime;
    this.address = `127.0.0.1:${reachedAt}`;
    this.#args = ['--replSet', set, '--setParameter', 'enableTestCommands=1'];
  }

  get port(): number {
    return this.#port;
  }

  get answers(): boolean {
    return this.#process !== undefined && !this.#frozen;
  }

  /** @param parameters of mongod, until its next start */
  async start(parameters: Readonly<Record<string, number>> = {}): Promise<void> {
    if (this.#process !== undefined) return;
    const args = [
      ...this.#args,
      ...Object.entries(parameters).flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]),
    ];
    const env = await this.#clock();
    this.#process = await runMongod({ directory: this.#directory, port: this.#port, args, env });
    await forgetSharedMemory(this.#process.pid);
    // A new client, because the old one checks only twice a second whether the server is back.
    await this.#client?.close();
    this.#client = await new MongoClient(`mongodb://127.0.0.1:${this.#port}`, OPTIONS).connect();
  }

  /** Sends SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#process?.kill();
    this.#process = undefined;
    this.#frozen = false;
  }

  /** Sends SIGSTOP: connections stay open, the kernel even accepts new ones, and nothing is answered. */
  freeze(): void {
    this.#signal('SIGSTOP');
    this.#frozen = true;
  }

  thaw(): void {
    this.#signal('SIGCONT');
    this.#frozen = false;
  }

  /** Sets its time of day this far off. Resolves when the member shows it. Monotonic time goes on. */
  async setClock(offSeconds: number): Promise<void> {
    const file = this.#clockFile;
    // It is read at any time: never half of it.
    await writeFile(`${file}.new`, `${offSeconds < 0 ? '' : '+'}${offSeconds}`);
    await rename(`${file}.new`, file);
    await until(`the clock of ${this.address} moved`, async () => {
      const { localTime } = await this.admin({ serverStatus: 1 });
      return Math.abs(localTime.getTime() - Date.now() - offSeconds * 1000) < 60_000;
    });
  }

  get hasMovableClock(): boolean {
    return this.#libfaketime !== undefined;
  }

  async admin(command: Document): Promise<Document> {
    return this.#connected.db('admin').command(command);
  }

  /** `undefined` when the member does not answer within a second. */
  async hello(): Promise<Document | undefined> {
    const { promise: late, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), HELLO_TIMEOUT_MS);
    try {
      return await Promise.race([this.admin({ hello: 1 }).catch(() => undefined), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async read(database: string, collection: string): Promise<readonly Document[]> {
    return this.#connected
      .db(database)
      .collection(collection, { readConcern: { level: 'majority' }, readPreference: 'secondaryPreferred' })
      .find()
      .toArray();
  }

  get client(): MongoClient {
    return this.#connected;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#client?.close();
  }

  get #clockFile(): string {
    return join(this.#directory, 'clock');
  }

  /** What makes its clock follow a file. The clock is right at each start. */
  async #clock(): Promise<Readonly<Record<string, string>>> {
    if (this.#libfaketime === undefined) return {};
    await writeFile(this.#clockFile, '+0');
    return {
      LD_PRELOAD: this.#libfaketime,
      FAKETIME_TIMESTAMP_FILE: this.#clockFile,
      // Seconds. It reads the file so often.
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // A workaround of libfaketime, with which the threads of mongod never sleep.
      FAKETIME_FORCE_MONOTONIC_FIX: '0',
    };
  }

  get #connected(): MongoClient {
    if (this.#client === undefined) throw new Error(`${this.address} was never started`);
    return this.#client;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#process === undefined) throw new Error(`${this.address} does not run`);
    process.kill(this.#process.pid, signal);
  }
}

/** Removes the names of what libfaketime shares with child processes. They would outlive a mongod that is killed. */
async function forgetSharedMemory(pid: number): Promise<void> {
  for (const name of ['faketime_shm', 'sem.faketime_sem'])
    await rm(`/dev/shm/${name}_${pid}`, { force: true });
}
