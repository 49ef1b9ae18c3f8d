import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Document, MongoClient, MongoServerError } from 'mongodb';
import { afterDeath } from './after-death.ts';
import { startMongodProcess } from './mongod-process.ts';

/**
 * The one place where tests get a MongoDB server from. In this order:
 *
 * 1. the server at `TEST_MONGODB_URI`;
 * 2. a testcontainer, when a Docker engine answers: image `MONGO_IMAGE`, by default the official `mongo:8`;
 * 3. a mongod process: see `mongod-binary.ts`.
 *
 * `TEST_MONGODB=container` or `TEST_MONGODB=process` asks for that way and no other.
 */
export type TestMongo = {
  /** A connection string. Each test takes a database name of its own and drops it at the end. */
  readonly url: (database: string) => string;
  readonly kind: 'uri' | 'container' | 'process';
  /** Whether the server has fail points (`enableTestCommands`). */
  readonly testCommands: boolean;
};

/** What vitest can pass from the global setup to the test files. */
export type SharedMongo = Omit<TestMongo, 'url'> & {
  readonly serverUrl: string;
  /** Why the ways before this one did not do. */
  readonly passedOver: readonly string[];
};

declare module 'vitest' {
  interface ProvidedContext {
    mongodb: SharedMongo | undefined;
  }
}

export type MongoOptions = {
  /** Needs a server that we start ourselves, so `TEST_MONGODB_URI` is passed over. */
  setParameters?: Record<string, string | number>;
  /** A replica set of one member, so that there are transactions and majority writes. Default: true. */
  replicaSet?: boolean;
};

const DEFAULT_IMAGE = 'mongo:8';
const PORT = 27017;
const UNAUTHORIZED = 13;

/** None of the ways to a MongoDB server works here. Says why, and what to install. */
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

/** The server that the whole run shares, or `undefined` when there is none (see `mongodb-global-setup.ts`). */
export async function sharedMongo(): Promise<TestMongo | undefined> {
  const { inject } = await import('vitest');
  const shared = inject('mongodb');
  if (shared === undefined) return undefined;
  const { serverUrl, kind, testCommands } = shared;
  return { url: (database) => withDatabase(serverUrl, database), kind, testCommands };
}

/**
 * A server of the caller's own, to be stopped by the caller; it ends with this process at the latest.
 *
 * @throws {NoMongo} when none can be had
 */
export async function startMongo(
  options: MongoOptions = {},
): Promise<TestMongo & { stop: () => Promise<void> }> {
  const { serverUrl, kind, testCommands, stop } = await start(options);
  return { url: (database) => withDatabase(serverUrl, database), kind, testCommands, stop };
}

/** {@link startMongo} in the form that can be passed on. */
export async function start(
  options: MongoOptions = {},
): Promise<SharedMongo & { stop: () => Promise<void> }> {
  const wanted = process.env['TEST_MONGODB'] || undefined;
  const uri = process.env['TEST_MONGODB_URI'] || undefined;
  if (!isWay(wanted))
    throw new Error(`TEST_MONGODB is ${wanted}; it must be container or process, or not set`);
  if (wanted === undefined && uri !== undefined && options.setParameters === undefined) {
    return {
      serverUrl: uri,
      kind: 'uri',
      testCommands: await hasTestCommands(uri),
      passedOver: [],
      stop: async () => {},
    };
  }

  const reasons: string[] = [];
  const ways = { container: startContainer, process: startProcess };
  for (const kind of wanted === undefined ? (['container', 'process'] as const) : [wanted]) {
    try {
      return {
        ...(await ready(await ways[kind](mongodArguments(options)), kind, options)),
        passedOver: reasons,
      };
    } catch (error) {
      reasons.push(`${kind}: ${messageOf(error)}`);
    }
  }
  throw new NoMongo(reasons);
}

function isWay(wanted: string | undefined): wanted is 'container' | 'process' | undefined {
  return wanted === undefined || wanted === 'container' || wanted === 'process';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

type Started = { host: string; port: number; stop: () => Promise<void> };

function mongodArguments({ setParameters = {}, replicaSet = true }: MongoOptions): string[] {
  const parameters = { enableTestCommands: 1, ...setParameters };
  return [
    ...(replicaSet ? ['--replSet', 'test'] : []),
    // By default a linearizable read and a drop of a database wait up to 100 ms for the journal.
    '--journalCommitInterval',
    '5',
    ...Object.entries(parameters).flatMap(([name, value]) => ['--setParameter', `${name}=${value}`]),
  ];
}

async function startProcess(args: string[]): Promise<Started> {
  const { port, stop } = await startMongodProcess(args);
  return { host: '127.0.0.1', port, stop };
}

async function startContainer(args: string[]): Promise<Started> {
  const image = process.env['MONGO_IMAGE'] || DEFAULT_IMAGE;
  // Takes half a second to load: only for those who use it.
  const { GenericContainer, Wait, getContainerRuntimeClient } = await import('testcontainers');
  await getContainerRuntimeClient().catch((cause: unknown) => {
    throw new Error('no Docker engine answers', { cause });
  });
  const name = `petstore-tests-${randomUUID()}`;
  // Testcontainers' reaper would do this too, but it may be switched off.
  const cleanUp = afterDeath(['docker', 'rm', '--force', '--volumes', name]);
  const container = await new GenericContainer(image)
    .withName(name)
    // The official image puts `mongod` in front of arguments that begin with a dash.
    .withCommand([...args, '--wiredTigerCacheSizeGB', '0.25', '--oplogSize', '128'])
    .withTmpFs({ '/data/db': 'rw' })
    .withExposedPorts(PORT)
    // Not @testcontainers/mongodb: its health check needs the mongo shell inside the image.
    .withWaitStrategy(Wait.forLogMessage('Waiting for connections'))
    .withStartupTimeout(60_000)
    .start()
    .catch((cause: unknown) => {
      cleanUp.now();
      throw new Error(`a container of ${image} does not start: ${messageOf(cause)}`, { cause });
    });
  return {
    host: container.getHost(),
    port: container.getMappedPort(PORT),
    async stop() {
      await container.stop({ timeout: 0, remove: true, removeVolumes: true });
      cleanUp.cancel();
    },
  };
}

async function ready(
  { host, port, stop }: Started,
  kind: 'container' | 'process',
  { replicaSet = true }: MongoOptions,
): Promise<Omit<SharedMongo, 'passedOver'> & { stop: () => Promise<void> }> {
  const serverUrl = `mongodb://${host}:${port}/?directConnection=true`;
  try {
    // Inside a container the member's own port is the unmapped one.
    if (replicaSet) await initiate(serverUrl, `127.0.0.1:${kind === 'container' ? PORT : port}`);
    return { serverUrl, kind, testCommands: await hasTestCommands(serverUrl), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes a replica set of one member and waits until it takes writes. */
async function initiate(serverUrl: string, member: string): Promise<void> {
  await withAdmin(serverUrl, async (admin) => {
    await admin.command({
      replSetInitiate: {
        _id: 'test',
        members: [{ _id: 0, host: member }],
        // An election takes a second at most, where the default is ten.
        settings: { electionTimeoutMillis: 1000, heartbeatIntervalMillis: 200 },
      },
    });
    const deadline = Date.now() + 30_000;
    while (!(await admin.command({ hello: 1 }))['isWritablePrimary']) {
      if (Date.now() > deadline) throw new Error('the replica set has no primary after 30 s');
      await sleep(20);
    }
  });
}

async function hasTestCommands(serverUrl: string): Promise<boolean> {
  const parameters: Document = await withAdmin(serverUrl, (admin) =>
    admin.command({ getParameter: '*' }).catch((error: unknown) => {
      // A server that hides its parameters from us has no fail points for us either.
      if (error instanceof MongoServerError && error.code === UNAUTHORIZED) return {};
      throw error;
    }),
  );
  return Boolean(parameters['enableTestCommands']);
}

type Admin = ReturnType<ReturnType<MongoClient['db']>['admin']>;

async function withAdmin<T>(serverUrl: string, use: (admin: Admin) => Promise<T>): Promise<T> {
  const client = new MongoClient(serverUrl, { serverSelectionTimeoutMS: 10_000 });
  try {
    return await use(client.db('admin').admin());
  } finally {
    await client.close();
  }
}

/** By hand, because a connection string may name several hosts, which no URL parser takes. */
function withDatabase(serverUrl: string, database: string): string {
  const parts =
    /^(?<server>[^:]+:\/\/(?<user>[^@/?]*@)?[^/?]+)(?:\/(?<database>[^?]*))?(?:\?(?<query>.*))?$/.exec(
      serverUrl,
    );
  if (parts?.groups === undefined) throw new Error('TEST_MONGODB_URI is not a connection string');
  const { server = '', user, database: original, query } = parts.groups;
  const options = new URLSearchParams(query);
  // Without this option, credentials belong to the database in the path, which is about to change.
  if (user !== undefined && !options.has('authSource')) options.set('authSource', original || 'admin');
  return `${server}/${database}?${options.toString()}`;
}
