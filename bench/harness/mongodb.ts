import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { findMongod } from '../../test/support/mongod-binary.ts';
import { startMongodProcess } from '../../test/support/mongod-process.ts';

/** The server beside the load, on every core but the first. Prints why when there is none. */
export async function startMongodb(): Promise<
  { readonly url: string; readonly version: string; stop(): Promise<void> } | undefined
> {
  try {
    await findMongod();
  } catch (error) {
    console.log(`LEFT OUT: MongoDB, because ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
  const server = await startMongodProcess(['--replSet', 'bench']);
  execFileSync('taskset', ['-apc', '1-1023', String(server.pid)], { stdio: 'ignore' });
  const client = await new MongoClient(`mongodb://127.0.0.1:${server.port}/?directConnection=true`).connect();
  const admin = client.db('admin');
  await admin.command({
    replSetInitiate: { _id: 'bench', members: [{ _id: 0, host: `127.0.0.1:${server.port}` }] },
  });
  while (!(await admin.command({ hello: 1 }))['isWritablePrimary']) await sleep(50);
  const { version } = await admin.command({ buildInfo: 1 });
  await client.close();
  return { url: `mongodb://127.0.0.1:${server.port}/`, version: String(version), stop: server.stop };
}
