import { KEY } from './client.ts';
import { freshDatabase, type TestDatabase } from './mongo-database.ts';
import { type Program, runService } from './process.ts';
import { mongo } from './shared-mongo.ts';

/** The log line of a worker that ends while the service goes on. */
export const ENDED = 'a worker has ended; another one follows';

/** A service of two workers on a new database. */
export async function runWorkers(
  env: Record<string, string> = {},
): Promise<{ service: Program; database: TestDatabase }> {
  const database = await freshDatabase(mongo!);
  const service = runService({ DATABASE_URL: database.url, API_KEYS: KEY, WORKERS: '2', ...env });
  return { service, database };
}

/** Waits for this many workers, and returns their process ids. */
export async function workersOf(service: Program, count = 2): Promise<readonly number[]> {
  const lines = await service.loggedTimes(count, 'a worker listens');
  return lines.map(({ pid }) => Number(pid));
}

/** A connection to each worker: they get connections in turn. */
export async function eachWorker<T>(open: () => Promise<T>): Promise<readonly [T, T]> {
  return [await open(), await open()];
}
