import { type Db, type MongoClient } from 'mongodb';
import { StorageSetupError, StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../application/ports/api-key-repository.ts';
import type { PetArchive } from '../../application/ports/pet-archive.ts';
import type { PetRepository } from '../../application/ports/pet-repository.ts';
import type { RateLimiter } from '../../application/ports/rate-limiter.ts';
import type { StorageProbe } from '../../application/ports/storage-probe.ts';
import { MongoApiKeyRepository } from './api-key-repository.ts';
import { connect, setupError } from './connect.ts';
import { Deadline } from './deadline.ts';
import { FreshReads } from './fresh-reads.ts';
import { indexProblem } from './indexes.ts';
import { migrate } from './migrate.ts';
import { MongoPetArchive } from './pet-archive.ts';
import { MongoPetRepository } from './pet-repository.ts';
import { MongoRateLimiter } from './rate-limiter.ts';
import { readVersion, versionProblem } from './schema.ts';

/** How long the probe waits for an answer: `/readyz` says within two seconds that MongoDB is away. */
const PROBE_DEADLINE_MS = 1_500;

export type MongoStorage = {
  readonly pets: PetRepository;
  readonly keys: ApiKeyRepository;
  readonly limiter: RateLimiter;
  readonly probe: StorageProbe;
  /** Cuts what is still in flight: to be called when nothing is. */
  close(): Promise<void>;
};

export type MongoArchive = {
  readonly archive: PetArchive;
  readonly keys: ApiKeyRepository;
  close(): Promise<void>;
};

export type MongoStorageOptions = {
  /** Bring an empty, older or damaged schema up to date first. */
  readonly autoMigrate: boolean;
};

/** @throws {StorageSetupError} */
export async function openMongoStorage(
  url: string,
  { autoMigrate }: MongoStorageOptions,
): Promise<MongoStorage> {
  const client = await connect(url);
  return setUp(client, async (db) => {
    if (autoMigrate && (await schemaProblem(db)) !== undefined) await migrate(url);
    refuse(await schemaProblem(db));
    const reads = new FreshReads(db);
    return {
      pets: new MongoPetRepository(db, undefined, reads),
      keys: new MongoApiKeyRepository(db, undefined, reads),
      limiter: new MongoRateLimiter(db),
      probe: { check: () => check(db, reads) },
      close: () => client.close(),
    };
  });
}

/**
 * What the command line works with, while services are using it too.
 *
 * @throws {StorageSetupError}
 */
export async function openMongoArchive(url: string): Promise<MongoArchive> {
  // A count of many pets takes as long as it takes; archive and keys bound every call by themselves.
  const client = await connect(url, { socketTimeoutMS: 0 });
  return setUp(client, async (db) => {
    // The version alone: what has lost an index can still be brought to safety.
    refuse(versionProblem(await readVersion(db), db.databaseName));
    const reads = new FreshReads(db);
    return {
      archive: new MongoPetArchive(db, reads),
      keys: new MongoApiKeyRepository(db, undefined, reads),
      close: () => client.close(),
    };
  });
}

async function setUp<T>(client: MongoClient, work: (db: Db) => Promise<T>): Promise<T> {
  try {
    return await work(client.db());
  } catch (error) {
    await client.close();
    throw setupError(client, error);
  }
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new StorageSetupError(problem);
}

async function check(db: Db, reads: FreshReads): Promise<void> {
  const problem = await reads.read(new Deadline(PROBE_DEADLINE_MS), () => schemaProblem(db));
  if (problem !== undefined) throw new StorageUnavailable(problem);
}

/** What keeps a service from working with the schema as it is, in one line. */
async function schemaProblem(db: Db): Promise<string | undefined> {
  const [version, indexes] = await Promise.all([readVersion(db), indexProblem(db)]);
  return versionProblem(version, db.databaseName) ?? indexes;
}
