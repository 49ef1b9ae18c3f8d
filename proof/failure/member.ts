import { type Document, MongoClient } from 'mongodb';
import { type RunningMongod, runMongod } from '../../test/support/mongod-process.ts';

/** The timeouts are short, because the suite cannot wait for an unresponsive member. */
const CLIENT_OPTIONS = {
  directConnection: true,
  serverSelectionTimeoutMS: 5_000,
  connectTimeoutMS: 1_000,
  appName: 'harness',
  // Large integers stay exact.
  promoteLongs: false,
} as const;

const HELLO_TIMEOUT_MS = 1_000;

export type MemberOptions = {
  readonly directory: string;
  readonly port: number;
  /** The name of the replica set. */
  readonly setName: string;
  /** The parameters of `mongod --setParameter`. */
  readonly parameters: Readonly<Record<string, number>>;
  /** The port of a proxy in front of the member. Without a proxy, other processes connect to `port`. */
  readonly proxyPort?: number | undefined;
};

/** A `mongod` of a replica set. A test can kill it, freeze it, and start it again with the same data. */
export class Member implements AsyncDisposable {
  /** The address to which the other members and the services connect. */
  readonly address: string;
  readonly #directory: string;
  readonly port: number;
  readonly #args: readonly string[];
  #process: RunningMongod | undefined;
  #client: MongoClient | undefined;
  #isFrozen = false;

  constructor({ directory, port, setName, parameters, proxyPort = port }: MemberOptions) {
    this.#directory = directory;
    this.port = port;
    this.address = `127.0.0.1:${proxyPort}`;
    const parameterValues = Object.entries({ enableTestCommands: 1, ...parameters });
    const options = parameterValues.flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]);
    this.#args = ['--replSet', setName, ...options];
  }

  get isResponsive(): boolean {
    return this.#process !== undefined && !this.#isFrozen;
  }

  async start(): Promise<void> {
    if (this.#process !== undefined) return;
    const { port } = this;
    this.#process = await runMongod({ directory: this.#directory, port, args: this.#args });
    // The old client would notice the started server late, because it checks the server only twice per second.
    await this.#client?.close();
    this.#client = await new MongoClient(`mongodb://127.0.0.1:${this.port}`, CLIENT_OPTIONS).connect();
  }

  /** Sends SIGKILL. Resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#process?.kill();
    this.#process = undefined;
    this.#isFrozen = false;
  }

  /** Sends SIGSTOP. Connections stay open, and the kernel accepts new connections, but the member answers nothing. */
  freeze(): void {
    this.#signal('SIGSTOP');
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#signal('SIGCONT');
    this.#isFrozen = false;
  }

  async admin(command: Document): Promise<Document> {
    return this.client.db('admin').command(command);
  }

  /** Returns the answer to the command `hello`, or `undefined` if the member does not answer within a second. */
  async hello(): Promise<Document | undefined> {
    const { promise: noAnswer, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(() => resolve(undefined), HELLO_TIMEOUT_MS);
    try {
      return await Promise.race([this.admin({ hello: 1 }).catch(() => undefined), noAnswer]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads all documents of a collection that a majority has, from this member, even if it is a secondary. */
  async read(database: string, collection: string): Promise<readonly Document[]> {
    return this.client
      .db(database)
      .collection(collection, { readConcern: { level: 'majority' }, readPreference: 'secondaryPreferred' })
      .find()
      .toArray();
  }

  get client(): MongoClient {
    if (this.#client === undefined) throw new Error(`${this.address} was never started`);
    return this.#client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.#client?.close();
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#process === undefined) throw new Error(`${this.address} does not run`);
    process.kill(this.#process.pid, signal);
  }
}
