import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db, Filter } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { SCHEMA } from './collection-plans.ts';
import { type SchemaDocument, versionsOf } from './collections.ts';

/** A migration that the server has not heard of for this long has lost its place. */
const LEASE_MS = 10_000;

/** Longer than a killed migration keeps its place. */
const WAIT_MS = 60_000;

const POLL_INTERVAL_MS = 100;

/**
 * Does the work of a migration while no other migration changes anything, and stores the version and the step of this
 * build afterwards. Before, it stores the step as begun: from then on, older builds do not judge what they find.
 *
 * The clock of the server decides how long a migration may be silent. The place of one that was killed gets free.
 *
 * @param work calls `hold` immediately before each command that changes something
 * @throws {StorageSetupError} if another migration does not end in time, or has taken the place of this one
 */
export async function underLease(db: Db, work: (hold: () => Promise<void>) => Promise<void>): Promise<void> {
  const schema = versionsOf(db);
  const by = randomUUID();
  const mine = { _id: 'petstore', 'lease.by': by } as const;
  const until = { $add: ['$$NOW', LEASE_MS] };
  const renewal = [{ $set: { begun: { $max: ['$begun', SCHEMA.step] }, lease: { by, until } } }];
  const renew = async (filter: Filter<SchemaDocument>) =>
    (await schema.updateOne(filter, renewal)).matchedCount === 1;
  const lost = () =>
    new StorageSetupError(
      `another migration of the database "${db.databaseName}" has taken the place of this one, which was silent for ` +
        `${LEASE_MS / 1_000} s; see that the migration of the newest build succeeds`,
    );
  const hold = async () => {
    for (;;) {
      const beganMs = performance.now();
      if (!(await renew(mine))) throw lost();
      // Else this process was stopped before it could read the reply.
      if (performance.now() - beganMs < LEASE_MS / 2) return;
    }
  };

  await schema.updateOne({ _id: 'petstore' }, { $setOnInsert: { step: 0 } }, { upsert: true });
  const isFree = [{ lease: { $exists: false } }, { $expr: { $lt: ['$lease.until', '$$NOW'] } }];
  const deadline = performance.now() + WAIT_MS;
  while (!(await renew({ _id: 'petstore', $or: isFree }))) {
    if (performance.now() > deadline) {
      throw new StorageSetupError(
        `another migration of the database "${db.databaseName}" is still running after ${WAIT_MS / 1_000} s; ` +
          'wait for its end, then migrate again',
      );
    }
    await sleep(POLL_INTERVAL_MS);
  }
  // An index can take any time. What a failure means for the place, the next `hold` finds out.
  const renewing = setInterval(() => void Promise.allSettled([renew(mine)]), LEASE_MS / 4);
  try {
    await work(hold);
    const { version, step } = SCHEMA;
    const done = await schema.updateOne(mine, { $max: { version, step }, $unset: { lease: '' } });
    if (done.matchedCount === 0) throw lost();
  } catch (error) {
    await Promise.allSettled([schema.updateOne(mine, { $unset: { lease: '' } })]);
    throw error;
  } finally {
    clearInterval(renewing);
  }
}
