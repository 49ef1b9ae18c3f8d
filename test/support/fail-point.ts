import type { Db, Document } from 'mongodb';
import { onTestFinished } from 'vitest';

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
