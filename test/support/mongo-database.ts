import { randomUUID } from 'node:crypto';
import {
  type CommandStartedEvent,
  type Db,
  type Document,
  Double,
  MongoClient,
  type MongoClientOptions,
  type UUID,
} from 'mongodb';
import { afterAll, expect, onTestFinished } from 'vitest';
import { ConfirmedReads } from '../../src/adapters/mongodb/confirmed-reads.ts';
import { connect, type Reports } from '../../src/adapters/mongodb/connection/connect.ts';
import { mongoInspector } from '../../src/adapters/mongodb/inspector.ts';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { MongoPetRepository } from '../../src/adapters/mongodb/pet-repository.ts';
import { StorageSetupError } from '../../src/application/ports/storage-errors.ts';
import type { TestMongo } from './mongodb.ts';
import { TcpProxy } from './tcp-proxy.ts';

// This type is not imported from the adapter: a test must fail if the adapter changes the form of stored pets.
type StoredPet = { _id: bigint; name: string; categoryId: bigint; status: string; op?: UUID };

export type TestDatabase = Awaited<ReturnType<typeof createDatabase>>;

async function createDatabase(mongo: TestMongo, migrated: boolean) {
  const url = mongo.url(`test-${randomUUID()}`);
  if (migrated) await migrate(url);
  // The client is independent of the client of the adapter. `useBigInt64` needs polling: see `EXACT_INTEGERS` in
  // collections.ts.
  const client = await new MongoClient(url, { useBigInt64: true, serverMonitoringMode: 'poll' }).connect();
  const db = client.db();
  return {
    url,
    db,
    pets: db.collection<StoredPet>('pets'),
    async drop() {
      await db.dropDatabase();
      await client.close();
    },
  };
}

/** Creates a database, which is dropped when the test is finished. By default the database is migrated. */
export async function freshDatabase(
  mongo: TestMongo,
  options: { migrated?: boolean } = {},
): Promise<TestDatabase> {
  const database = await createDatabase(mongo, options.migrated ?? true);
  onTestFinished(database.drop);
  return database;
}

/**
 * Returns a function that empties one migrated database for the running test. Creating a database takes ten times as
 * long as emptying it. Use the function only in tests that change only documents, and that wait for all their calls.
 * All other tests use {@link freshDatabase}.
 */
export function databasePool(mongo: () => TestMongo): () => Promise<TestDatabase> {
  let database: TestDatabase | undefined;
  afterAll(() => database?.drop());
  return async () => {
    database ??= await createDatabase(mongo(), true);
    await empty(database);
    return database;
  };
}

async function empty({ db }: TestDatabase): Promise<void> {
  await Promise.all(['pets', 'api_keys', 'rate_limits'].map((name) => db.collection(name).deleteMany({})));
}

/** Opens the storage as a service does. The storage is closed when the test is finished. */
export async function openService(url: string, reports: Reports = {}) {
  const storage = await openMongoStorage(url, { autoMigrate: false, ...reports });
  onTestFinished(storage.close);
  return storage;
}

/** What the inspector of the adapter finds in a database, one line for each finding. */
export async function findingsIn(url: string): Promise<readonly string[]> {
  const { db, reads } = await openClient(url);
  const findings = await Array.fromAsync(mongoInspector(db, reads).findings());
  return findings.map(({ about, problem }) => `${about}: ${problem}`);
}

/** Expects that the call rejects with a {@link StorageSetupError}, and returns the message of this error. */
export async function setupErrorOf(call: Promise<unknown>): Promise<string> {
  const [outcome] = await Promise.allSettled([call]);
  expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(StorageSetupError) });
  return outcome.status === 'rejected' ? outcome.reason.message : '';
}

/** Inserts a fence: a document that is no pet. It has the id `id`, and reserves all ids up to `upTo`. */
export async function putFence(db: Db, id: bigint, upTo: unknown = id): Promise<void> {
  const fence: Document = { _id: new Double(Number(id)), upTo };
  await db.collection('pets').insertOne(fence, { bypassDocumentValidation: true });
}

/** Whether a command is a linearizable read. With this read, the adapter checks that the primary is still primary. */
export const isConfirmation = ({ command }: CommandStartedEvent) =>
  command['readConcern']?.level === 'linearizable';

/** Opens a client as the adapter does, and records its commands. The client is closed when the test is finished. */
export async function openClient(url: string, overrides: MongoClientOptions = {}) {
  const client = await connect(url, { monitorCommands: true, ...overrides });
  onTestFinished(() => client.close());
  const commands: CommandStartedEvent[] = [];
  client.on('commandStarted', (event) => commands.push(event));
  const db = client.db();
  return {
    client,
    db,
    reads: new ConfirmedReads(db),
    commands,
    /** How many commands of this name were sent, including the retries of the driver. */
    sent: (command: string) => commands.filter(({ commandName }) => commandName === command).length,
  };
}

/** Opens a repository with its own client, and reads once, so that the adapter has already confirmed the primary. */
export async function openRepository(url: string, timeoutMs?: number) {
  const { client, db, reads, commands, sent } = await openClient(url);
  await new MongoPetRepository(db, reads).list({ limit: 1 });
  commands.length = 0;
  return { repository: new MongoPetRepository(db, reads, { timeoutMs }), client, commands, sent };
}

/** Adds these options to a connection string. */
export function withOptions(url: string, options: Record<string, string | number | boolean>): string {
  const query = new URLSearchParams(
    Object.entries(options).map(([name, value]): [string, string] => [name, `${value}`]),
  );
  return `${url}${url.includes('?') ? '&' : '?'}${query.toString()}`;
}

/** Starts a proxy for a database until the test is finished. Returns the proxy and its URL, with these options. */
export async function throughProxy(url: string, options: Record<string, string | number | boolean> = {}) {
  const proxy = await new TcpProxy(addressOf(url)).listen();
  onTestFinished(() => proxy.close());
  const proxyUrl = url.replace(/^(mongodb:\/\/(?:[^@/?]*@)?)[^/?]+/, `$1127.0.0.1:${proxy.port}`);
  return { proxy, url: withOptions(proxyUrl, options) };
}

/** The address of the first host of a connection string. */
export function addressOf(url: string): { host: string; port: number } {
  const [, host = '127.0.0.1', port = '27017'] =
    /^mongodb:\/\/(?:[^@/?]*@)?([^:,/?]+)(?::(\d+))?/.exec(url) ?? [];
  return { host, port: Number(port) };
}
