import { randomUUID } from 'node:crypto';
import { type CommandStartedEvent, MongoClient, type MongoClientOptions, type UUID } from 'mongodb';
import { onTestFinished } from 'vitest';
import { connect } from '../../src/adapters/mongodb/connect.ts';
import { FreshReads } from '../../src/adapters/mongodb/fresh-reads.ts';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { MongoPetRepository } from '../../src/adapters/mongodb/pet-repository.ts';
import type { TestMongo } from './mongodb.ts';

// Written out once more: what is in the database is an interface of its own.
type StoredPet = { _id: bigint; name: string; categoryId: bigint; status: string; op?: UUID };
type StoredCounter = { _id: string; last: bigint };

/** A database of the running test's own, dropped when the test is over. */
export async function freshDatabase(mongo: TestMongo, options: { migrated?: boolean } = {}) {
  const url = mongo.url(`test-${randomUUID()}`);
  if (options.migrated ?? true) await migrate(url);
  // What the tests see does not depend on the adapter's client. Polling is for `useBigInt64`: see schema.ts.
  const client = await new MongoClient(url, { useBigInt64: true, serverMonitoringMode: 'poll' }).connect();
  const db = client.db();
  onTestFinished(async () => {
    await db.dropDatabase();
    await client.close();
  });
  return {
    url,
    db,
    pets: db.collection<StoredPet>('pets'),
    counters: db.collection<StoredCounter>('counters'),
  };
}

/** For a client that would promise less than the collections do. A connection string that asks for it is refused. */
export const WEAK: MongoClientOptions = {
  writeConcern: { w: 1, journal: false },
  readConcernLevel: 'local',
  readPreference: 'nearest',
};

/** The adapter's own client, whose commands can be seen. */
export async function openClient(url: string, overrides: MongoClientOptions = {}) {
  const client = await connect(url, { monitorCommands: true, ...overrides });
  onTestFinished(() => client.close());
  const commands: CommandStartedEvent[] = [];
  client.on('commandStarted', (event) => commands.push(event));
  return {
    client,
    commands,
    /** How many of these were sent, driver's retries included. */
    sent: (command: string) => commands.filter(({ commandName }) => commandName === command).length,
  };
}

/** A repository with a client of its own. It has read once: the primary is proven. */
export async function openRepository(url: string, deadlineMs?: number, overrides: MongoClientOptions = {}) {
  const { client, commands, sent } = await openClient(url, overrides);
  const reads = new FreshReads(client.db());
  await new MongoPetRepository(client.db(), undefined, reads).list({ limit: 1 });
  commands.length = 0;
  return { repository: new MongoPetRepository(client.db(), deadlineMs, reads), client, sent };
}

/** The same connection string with these options. */
export function withOptions(url: string, options: Record<string, string | number | boolean>): string {
  const query = new URLSearchParams(
    Object.entries(options).map(([name, value]): [string, string] => [name, `${value}`]),
  );
  return `${url}${url.includes('?') ? '&' : '?'}${query.toString()}`;
}

/** The same database through another port on this machine. */
export function throughPort(url: string, port: number): string {
  return url.replace(/^(mongodb:\/\/(?:[^@/?]*@)?)[^/?]+/, `$1127.0.0.1:${port}`);
}

/** Where the first server of a connection string listens. */
export function addressOf(url: string): { host: string; port: number } {
  const [, host = '127.0.0.1', port = '27017'] =
    /^mongodb:\/\/(?:[^@/?]*@)?([^:,/?]+)(?::(\d+))?/.exec(url) ?? [];
  return { host, port: Number(port) };
}
