import { type Db } from 'mongodb';
import { StorageSetupError, StorageUnavailable } from '../../application/errors.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { connect, setupError } from './connect.ts';
import { Deadline } from './deadline.ts';
import { migrate } from './migrate.ts';
import { MongoPetRepository } from './pet-repository.ts';
import { readVersion, SCHEMA_VERSION, versionProblem } from './schema.ts';

/** How long the probe waits for an answer: `/readyz` says within two seconds that MongoDB is away. */
const PROBE_DEADLINE_MS = 1_500;

export type MongoStorage = {
  readonly pets: PetRepository;
  readonly probe: StorageProbe;
  /** Cuts what is still in flight: to be called when nothing is. */
  close(): Promise<void>;
};

export type MongoStorageOptions = {
  /** Bring an empty or older schema up to date first. */
  readonly autoMigrate: boolean;
};

/** @throws {StorageSetupError} */
export async function openMongoStorage(
  url: string,
  { autoMigrate }: MongoStorageOptions,
): Promise<MongoStorage> {
  const client = await connect(url);
  try {
    const db = client.db();
    const version = await readVersion(db);
    if (autoMigrate && (version === undefined || version < SCHEMA_VERSION)) await migrate(url);
    const problem = versionProblem(await readVersion(db), db.databaseName);
    if (problem !== undefined) throw new StorageSetupError(problem);
    return {
      pets: new MongoPetRepository(db),
      probe: { check: () => check(db) },
      close: () => client.close(),
    };
  } catch (error) {
    await client.close();
    throw setupError(client, error);
  }
}

async function check(db: Db): Promise<void> {
  const deadline = new Deadline(PROBE_DEADLINE_MS);
  const version = await deadline.bound(deadline.retry(() => readVersion(db)));
  const problem = versionProblem(version, db.databaseName);
  if (problem !== undefined) throw new StorageUnavailable(problem);
}
