import type { Db, Document } from 'mongodb';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { databasePool } from './mongo-database.ts';
import { startMongo } from './mongodb.ts';

type Mode = 'alwaysOn' | { readonly times: number };

/**
 * Enables a fail point of the server until the test is finished or the returned function is called.
 * Requires `enableTestCommands`. https://github.com/mongodb/mongo/wiki/The-%22failCommand%22-fail-point
 */
export async function failPoint(
  db: Db,
  name: string,
  mode: Mode,
  data: Document = {},
): Promise<() => Promise<void>> {
  const admin = db.client.db('admin');
  const off = async () => {
    await admin.command({ configureFailPoint: name, mode: 'off' });
  };
  await admin.command({ configureFailPoint: name, mode, data });
  onTestFinished(off);
  return off;
}

/** A server that only these tests use: some fail points affect all clients of a server. */
export function separateMongo() {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({});
  });
  afterAll(() => mongo?.stop());
  // Its databases are dropped before the server stops.
  return { server: () => mongo, emptyDatabase: databasePool(() => mongo) };
}

/** Makes a command fail for clients of the adapter. Clients of the tests are not affected. */
export async function failCommand(
  db: Db,
  command: string,
  mode: Mode,
  how: {
    readonly closeConnection?: true;
    readonly errorCode?: number;
    readonly errorLabels?: readonly string[];
    readonly writeConcernError?: { readonly code: number; readonly errmsg: string };
  },
): Promise<() => Promise<void>> {
  return failPoint(db, 'failCommand', mode, { appName: 'petstore', failCommands: [command], ...how });
}
