import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, MongoClientOptions } from 'mongodb';
import type {
  CheckableStorage,
  ServiceOptions,
  ServiceStorage,
  WritableStorage,
} from '../../application/ports/storage-kind.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { MongoApiKeyRepository } from './api-key-repository.ts';
import { ConfirmedReads } from './confirmed-reads.ts';
import { renewCertificates } from './connection/certificates.ts';
import { connect, type Reports, throwIfProblem, toSetupError } from './connection/connect.ts';
import { missingRightsProblem } from './connection/missing-rights.ts';
import { mongoInspector } from './inspector.ts';
import { migrate } from './migrate.ts';
import { MongoPetArchive } from './pet-archive.ts';
import { lastId } from './pet-ids.ts';
import { oncePerSecond } from '../../application/ports/once-per-second.ts';
import { MongoPetRepository } from './pet-repository.ts';
import { MongoRateLimiter } from './rate-limiter.ts';
import { SCHEMA } from './schema/collection-plans.ts';
import { describeProblems, examineSchema } from './schema/schema-problems.ts';
import { DEFAULT_PROGRAM, readSchema, versionProblem } from './schema/schema-version.ts';

type MongoStorage = Required<ServiceStorage> & WritableStorage & CheckableStorage;

/** `/readyz` must report an outage of MongoDB within two seconds. */
const PROBE_TIMEOUT_MS = 1_500;

/** A stop has 3 s in total, and the driver may wait longer for a server that does not answer. */
const CLOSE_MS = 1_500;

/**
 * @param options.autoMigrate whether to create, repair or extend the schema. A higher version needs `petstore migrate`
 * @throws {StorageSetupError} if MongoDB cannot be reached, or if its schema does not fit this build
 */
export async function openMongoStorage(
  url: string,
  { autoMigrate, ...reports }: Reports & Pick<ServiceOptions, 'autoMigrate'>,
  program = DEFAULT_PROGRAM,
): Promise<MongoStorage> {
  return openAndCheck(url, { program, ...reports }, {}, async (db) => {
    throwIfProblem(await missingRightsProblem(db));
    let schema = await examine(db, program);
    // Services of older builds would refuse a higher version.
    if (autoMigrate && schema.version >= SCHEMA.version && schema.problem !== undefined) {
      await migrate(url, program);
      schema = await examine(db, program);
    }
    throwIfProblem(schema.problem);
    if (schema.warning !== undefined) reports.log?.warn(schema.warning);
  });
}

/** @throws {StorageSetupError} if MongoDB cannot be reached, or if it has another schema version */
export async function openMongoArchive(url: string, program = DEFAULT_PROGRAM): Promise<MongoStorage> {
  // A count of many pets may take minutes. The archive and the keys limit each call themselves.
  return openAndCheck(url, { program }, { socketTimeoutMS: 0 }, async (db) => {
    // Other problems do not prevent an export. The message names URL, because DATABASE_URL may name another database.
    const migrateCommand = `${program} migrate URL, with the URL of that database`;
    throwIfProblem(versionProblem(await readSchema(db), db.databaseName, migrateCommand));
  });
}

async function openAndCheck(
  url: string,
  { program, ...reports }: Reports & { readonly program: string },
  overrides: MongoClientOptions,
  check: (db: Db) => Promise<void>,
): Promise<MongoStorage> {
  const client = await connect(url, overrides, reports);
  const db = client.db();
  try {
    await check(db);
  } catch (error) {
    await client.close();
    throw toSetupError(client, error);
  }
  const reads = new ConfirmedReads(db, reports.log);
  // While the schema has a problem, no pet is stored: see step 3 of docs/explanation/a-write-on-mongodb.md.
  let isSchemaSound = true;
  const examineAgain = async () => {
    const { problem } = await examine(db, program, true);
    isSchemaSound = problem === undefined;
    return problem;
  };
  // A dropped index is noticed after at most 1 s.
  const findProblem = oncePerSecond(examineAgain);
  const schemaProblem = async (isFresh: boolean) => (isSchemaSound && !isFresh ? undefined : findProblem());
  return {
    pets: new MongoPetRepository(db, reads, { meter: reports.meter, schemaProblem }),
    archive: new MongoPetArchive(db, reads),
    keys: new MongoApiKeyRepository(db, reads),
    limiter: new MongoRateLimiter(db),
    probe: {
      async check() {
        const [rightsProblem, foundProblem, id] = await reads.read(PROBE_TIMEOUT_MS, () =>
          Promise.all([missingRightsProblem(db), examineAgain(), lastId(db)]),
        );
        const problem = rightsProblem ?? foundProblem;
        if (problem !== undefined) throw new StorageUnavailable(problem);
        return { lastId: id };
      },
    },
    inspector: mongoInspector(db, reads),
    renewCertificates: renewCertificates(client, reports.log),
    close: () => Promise.race([client.close(), sleep(CLOSE_MS)]),
  };
}

async function examine(db: Db, program: string, isRunning = false) {
  const { problems, stored, warning } = await examineSchema(db);
  const harmful = problems.filter(({ harm }) => harm === 'losses' || (harm === 'refusals' && !isRunning));
  const problem =
    versionProblem(stored, db.databaseName, `${program} migrate`) ?? describeProblems(harmful, db, program);
  return { problem, warning, version: stored.version ?? SCHEMA.version };
}
