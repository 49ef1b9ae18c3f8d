import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Filter } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { throwIfProblem } from '../connection/connect.ts';
import { SCHEMA } from './collection-plans.ts';
import { type SchemaDocument, versionsOf } from './collections.ts';

/** A lease ends this long after its last renewal. */
const LEASE_MS = 10_000;

const WAIT_MS = 60_000;

/**
 * Runs `work` while no other migration changes anything: see
 * docs/explanation/a-write-on-mongodb.md#the-schema-and-its-migration.
 *
 * @param work calls `hold`, which renews the lease, immediately before each command that changes something
 * @throws {StorageSetupError} if another migration does not end in time, or has taken the lease
 */
export async function underLease(db: Db, work: (hold: () => Promise<void>) => Promise<void>): Promise<void> {
  const schema = versionsOf(db);
  const otherMigration = `another migration of the database "${db.databaseName}"`;
  const holder = randomUUID();
  const ownLease = { _id: 'petstore', 'lease.by': holder } as const;
  const lease = { by: holder, until: { $add: ['$$NOW', LEASE_MS] } };
  const renewal = [{ $set: { begun: { $max: ['$begun', SCHEMA.step] }, lease } }];
  const renew = () => schema.updateOne(ownLease, renewal);
  const requireMatch = ({ matchedCount }: { readonly matchedCount: number }) => {
    if (matchedCount > 0) return;
    throw new StorageSetupError(
      `${otherMigration} took over, because this one did not renew its lease for ${LEASE_MS / 1_000} s; migrate with the newest build`,
    );
  };
  const hold = async () => {
    const beganMs = performance.now();
    requireMatch(await renew());
    // After a pause of the process, little time of the lease may be left.
    if (performance.now() - beganMs > LEASE_MS / 2) await hold();
  };

  await schema.updateOne({ _id: 'petstore' }, { $setOnInsert: { step: 0 } }, { upsert: true });
  const freeConditions = [{ lease: { $exists: false } }, { $expr: { $lt: ['$lease.until', '$$NOW'] } }];
  const freeLease: Filter<SchemaDocument> = { _id: 'petstore', $or: freeConditions };
  const deadlineMs = performance.now() + WAIT_MS;
  while ((await schema.updateOne(freeLease, renewal)).matchedCount === 0) {
    const lateMessage = `${otherMigration} has not ended in ${WAIT_MS / 1_000} s; wait for its end, then migrate again`;
    throwIfProblem(performance.now() > deadlineMs ? lateMessage : undefined);
    await sleep(LEASE_MS / 100);
  }
  // The build of an index may outlast the lease. A failed renewal is ignored, because the next `hold` rejects if the
  // lease is lost.
  const renewalTimer = setInterval(() => void Promise.allSettled([renew()]), LEASE_MS / 4);
  try {
    await work(hold);
    const { version, step } = SCHEMA;
    requireMatch(await schema.updateOne(ownLease, { $max: { version, step } }));
  } finally {
    clearInterval(renewalTimer);
    await Promise.allSettled([schema.updateOne(ownLease, { $unset: { lease: '' } })]);
  }
}
