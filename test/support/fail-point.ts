import type { Db, Document } from 'mongodb';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { databasePool } from './mongo-database.ts';
import { startMongo } from './mongodb.ts';

/** How often a fail point makes the server fail. */
type Mode = 'alwaysOn' | { readonly times: number };

/**
 * Enables a fail point: a switch of MongoDB that makes the server fail on purpose. The fail point stays enabled until
 * the test is finished or the returned function is called. `data` contains the settings of the fail point. The server
 * needs the parameter `enableTestCommands`.
 * https://github.com/mongodb/mongo/wiki/The-%22failCommand%22-fail-point
 */
export async function failPoint(
  db: Db,
  name: string,
  mode: Mode,
  data: Document = {},
): Promise<() => Promise<void>> {
  const admin = db.client.db('admin');
  const disable = async () => {
    await admin.command({ configureFailPoint: name, mode: 'off' });
  };
  await admin.command({ configureFailPoint: name, mode, data });
  onTestFinished(disable);
  return disable;
}

/** Starts a server for the calling test file alone, because some fail points affect all clients of a server. */
export function separateMongo() {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({});
  });
  afterAll(() => mongo?.stop());
  // The pool drops its database before the server stops, because vitest runs the last `afterAll` first.
  return { server: () => mongo, emptyDatabase: databasePool(() => mongo) };
}

/** Makes a command fail for clients with the `appName` of the adapter. Clients of the tests have another or none. */
export async function failCommand(
  db: Db,
  command: string,
  mode: Mode,
  failure: {
    readonly closeConnection?: true;
    readonly errorCode?: number;
    readonly errorLabels?: readonly string[];
    readonly writeConcernError?: { readonly code: number; readonly errmsg: string };
  },
): Promise<() => Promise<void>> {
  return failPoint(db, 'failCommand', mode, { appName: 'petstore', failCommands: [command], ...failure });
}
