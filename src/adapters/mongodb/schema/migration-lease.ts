import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Filter } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { throwIfProblem } from '../connection/connect.ts';
import { SCHEMA } from './collection-plans.ts';
import { type SchemaDocument, versionsOf } from './collections.ts';

/** A migration that the server has not heard of for this long has lost its place. */
const LEASE_MS = 10_000;

/** Longer than a killed migration keeps its place. */
const WAIT_MS = 60_000;

/**
 * Does the work of a migration while no other migration changes anything. Stores the step as begun before, and the
 * version and the step of this build afterwards. The clock of the server decides how long the place lasts:
 * docs/decisions.md, "A migration of MongoDB has a place that the clock of the server ends".
 *
 * @param work calls `hold` immediately before each command that changes something
 * @throws {StorageSetupError} if another migration does not end in time, or has taken the place of this one
 */
export async function underLease(db: Db, work: (hold: () => Promise<void>) => Promise<void>): Promise<void> {
  const schema = versionsOf(db);
  const another = `another migration of the database "${db.databaseName}"`;
  const by = randomUUID();
  const mine = { _id: 'petstore', 'lease.by': by } as const;
  const lease = { by, until: { $add: ['$$NOW', LEASE_MS] } };
  const renewal = [{ $set: { begun: { $max: ['$begun', SCHEMA.step] }, lease } }];
  const renew = () => schema.updateOne(mine, renewal);
  const requireMatch = ({ matchedCount }: { readonly matchedCount: number }) => {
    if (matchedCount > 0) return;
    throw new StorageSetupError(
      `${another} has taken the place of this one, which was silent for ${LEASE_MS / 1_000} s; migrate with the newest build`,
    );
  };
  const hold = async () => {
    const beganMs = performance.now();
    requireMatch(await renew());
    // This process may have been stopped before it could read the reply.
    if (performance.now() - beganMs > LEASE_MS / 2) await hold();
  };

  await schema.updateOne({ _id: 'petstore' }, { $setOnInsert: { step: 0 } }, { upsert: true });
  const isFree = [{ lease: { $exists: false } }, { $expr: { $lt: ['$lease.until', '$$NOW'] } }];
  const free: Filter<SchemaDocument> = { _id: 'petstore', $or: isFree };
  const deadlineMs = performance.now() + WAIT_MS;
  while ((await schema.updateOne(free, renewal)).matchedCount === 0) {
    const late = `${another} has not ended in ${WAIT_MS / 1_000} s; wait for its end, then migrate again`;
    throwIfProblem(performance.now() > deadlineMs ? late : undefined);
    await sleep(LEASE_MS / 100);
  }
  // An index can take any time. If a renewal fails, the next `hold` tells whether the place is lost.
  const renewing = setInterval(() => void Promise.allSettled([renew()]), LEASE_MS / 4);
  try {
    await work(hold);
    const { version, step } = SCHEMA;
    requireMatch(await schema.updateOne(mine, { $max: { version, step } }));
  } finally {
    clearInterval(renewing);
    await Promise.allSettled([schema.updateOne(mine, { $unset: { lease: '' } })]);
  }
}
