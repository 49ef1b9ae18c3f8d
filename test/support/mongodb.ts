import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { startMongodProcess } from './mongod-process.ts';
import { watchCommands } from './watch-commands.ts';

watchCommands();

/**
 * The MongoDB server of a test. It is the first of these servers that is available:
 *
 * 1. the server at `TEST_MONGODB_URI`, unless the test needs a server of its own;
 * 2. a container, if a Docker engine answers: its image is `MONGO_IMAGE`, by default the official `mongo:8`;
 * 3. a mongod process: see `mongod-binary.ts`.
 *
 * `TEST_MONGODB=container` allows only a container, and `TEST_MONGODB=process` allows only a mongod process. With
 * `TEST_MONGODB=none`, the tests that need MongoDB are left out.
 */
export type TestMongo = {
  /** A connection string for a database. Each test uses another name and drops its database. */
  readonly url: (database: string) => string;
  readonly kind: 'uri' | 'container' | 'process';
};

/** A server in the form in which vitest provides it to the test files. This form can be serialized. */
type SharedMongo = Pick<TestMongo, 'kind'> & { readonly serverUrl: string };

type StartedMongo = SharedMongo & {
  /** One reason for each kind of server that was tried before and could not be started. */
  readonly failureReasons: readonly string[];
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

/** The port of mongod inside a container. */
const PORT = 27017;

/** The error that no MongoDB server is available. Its message names the reasons, and what to install. */
export class NoMongo extends Error {
  constructor(reasons: readonly string[]) {
    super(
      [
        ...reasons,
        'Any one of these is enough: TEST_MONGODB_URI=mongodb://…, a running Docker engine with the image mongo:8,',
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
 * Starts a server, which the caller must stop. It is killed when this process ends.
 *
 * @param options with options, even with `{}`, the server is a new one, and `TEST_MONGODB_URI` is ignored
 * @throws {NoMongo} if no server is available
 */
export async function startMongo(options?: MongoOptions): Promise<TestMongo & { stop: () => Promise<void> }> {
  const { serverUrl, kind, stop } = await start(options);
  return { url: (database) => withDatabase(serverUrl, database), kind, stop };
}

const STARTERS = { container: startContainer, process: startProcess } as const;

/** Like {@link startMongo}, with a serializable result. */
export async function start(options?: MongoOptions): Promise<StartedMongo> {
  const wantedKind = process.env['TEST_MONGODB'] || undefined;
  const serverUrl = process.env['TEST_MONGODB_URI'] || undefined;
  if (options === undefined && wantedKind === undefined && serverUrl !== undefined)
    return { serverUrl, kind: 'uri', failureReasons: [], stop: async () => {} };
  if (wantedKind !== undefined && !Object.hasOwn(STARTERS, wantedKind))
    throw new Error(`TEST_MONGODB is ${wantedKind}; it must be container, process or none, or not set`);
  const failureReasons: string[] = [];
  for (const kind of ['container', 'process'] as const) {
    if (kind !== (wantedKind ?? kind)) continue;
    try {
      const isReplicaSet = options?.replicaSet !== false;
      const { host, port, member, stop } = await STARTERS[kind]([
        ...ARGUMENTS,
        ...(isReplicaSet ? ['--replSet', 'test'] : []),
      ]);
      const url = `mongodb://${host}:${port}/?directConnection=true`;
      await using cleanUpOnFailure = new AsyncDisposableStack();
      cleanUpOnFailure.defer(stop);
      if (isReplicaSet) await initiate(url, member);
      cleanUpOnFailure.move();
      return { serverUrl: url, stop, kind, failureReasons };
    } catch (error) {
      failureReasons.push(`${kind}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new NoMongo(failureReasons);
}

/** `member` is the address that the replica set uses. For a container, it has the port inside the container. */
type StartedServer = { host: string; port: number; member: string; stop: () => Promise<void> };

/**
 * With `--journalCommitInterval 5`, the server writes its journal every 5 ms. With the default, linearizable reads and
 * drops of databases wait up to 100 ms for the journal.
 */
const ARGUMENTS = ['--setParameter', 'enableTestCommands=1', '--journalCommitInterval', '5'];

async function startProcess(args: string[]): Promise<StartedServer> {
  const { port, stop } = await startMongodProcess(args);
  return { host: '127.0.0.1', port, member: `127.0.0.1:${port}`, stop };
}

async function startContainer(args: string[]): Promise<StartedServer> {
  // `detached` gives the program a session of its own, which Ctrl-C in the terminal does not reach.
  const program = fork(new URL('./mongo-container.ts', import.meta.url), args, { detached: true });
  const ended = once(program, 'exit');
  // `message` is the address of the server, an error text, or the exit code of a program that ended without a message.
  const [message] = await Promise.race([once(program, 'message'), ended]);
  if (typeof message !== 'object') throw new Error(`${message}`);
  program.unref();
  program.channel?.unref();
  return {
    ...message,
    member: `127.0.0.1:${PORT}`,
    async stop() {
      program.ref();
      program.disconnect();
      await ended;
    },
  };
}

/** Initiates a replica set of one member, and waits until the member accepts writes. */
async function initiate(serverUrl: string, member: string): Promise<void> {
  await using client = new MongoClient(serverUrl, { serverSelectionTimeoutMS: 120_000 });
  const admin = client.db('admin');
  await admin.command({
    replSetInitiate: {
      _id: 'test',
      members: [{ _id: 0, host: member }],
      // The default of `electionTimeoutMillis` is ten seconds.
      settings: { electionTimeoutMillis: 1000, heartbeatIntervalMillis: 200 },
    },
  });
  const deadline = Date.now() + 120_000;
  while (!(await admin.command({ hello: 1 }))['isWritablePrimary']) {
    if (Date.now() > deadline) throw new Error('the replica set has no primary after 120 s');
    await sleep(20);
  }
}

/**
 * Adds a database to a connection string. A regular expression parses the string, because it may contain several hosts,
 * which URL parsers do not accept.
 */
function withDatabase(serverUrl: string, database: string): string {
  const match =
    /^(?<server>[^:]+:\/\/(?<user>[^@/?]*@)?[^/?]+)(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/.exec(
      serverUrl,
    );
  if (match?.groups === undefined) throw new Error('TEST_MONGODB_URI is not a connection string');
  const { server = '', user, database: original, query } = match.groups;
  const options = new URLSearchParams(query);
  options.set('monitorCommands', 'true');
  // Without `authSource`, MongoDB would look for the user in the database of the path, which this function changes.
  if (user !== undefined && !options.has('authSource')) options.set('authSource', original || 'admin');
  return `${server}/${database}?${options.toString()}`;
}
