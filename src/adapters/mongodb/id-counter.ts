import { type Collection, Long } from 'mongodb';
import { MAX_PET_ID } from '../../domain/pet.ts';
import { duplicateField } from './connection/mongo-errors.ts';
import { petIds } from './pet-document.ts';
import type { CounterDocument, PetDocument } from './schema/collections.ts';
import { toBigInt, toLong } from './schema/long.ts';

/** `$type` also matches an array that has an element of the type. */
export const IS_LONG = { $type: 'long', $not: { $type: 'array' } } as const;

/** Matches the counter if it holds an id or 0. */
export const VALID_COUNTER = {
  _id: 'pets',
  last: { ...IS_LONG, $gte: Long.ZERO, $lte: toLong(MAX_PET_ID) },
} as const;

/** Reads what the primary has now, even if a majority does not have it yet. */
export const LATEST = { readConcern: { level: 'local' } } as const;

/**
 * The last allocated id according to the counter. A value of another type sorts below all numbers, and `$max` ignores it,
 * or above: https://www.mongodb.com/docs/manual/reference/bson-type-comparison-order/
 */
const LAST_ALLOCATED = { $cond: [{ $lte: ['$last', toLong(MAX_PET_ID)] }, '$last', Long.ZERO] };

/** The greatest id of a stored pet, or 0. */
export async function greatestId(pets: Collection<PetDocument>): Promise<bigint> {
  const found = await pets.findOne(petIds({}), { projection: { _id: 1 }, sort: { _id: -1 } });
  return found === null ? 0n : toBigInt(found._id);
}

/** The greatest id that was ever assigned, written or reserved, or 0. */
export async function lastId(
  counters: Collection<CounterDocument>,
  pets: Collection<PetDocument>,
): Promise<bigint> {
  const [counter, greatest] = await Promise.all([counters.findOne(VALID_COUNTER), greatestId(pets)]);
  const allocated = counter === null ? 0n : toBigInt(counter.last);
  return allocated > greatest ? allocated : greatest;
}

/**
 * Creates the counter if it is missing, repairs it if it does not hold an id, and raises it to the highest id in use.
 * Safe at any time and from several processes at once: it is one update on the server, which never lowers a valid
 * counter. A wrong counter never overwrites a pet: the primary key rejects a second use of an id.
 *
 * @param atLeast the counter becomes at least this id: the allocator then never returns it or a lower one
 */
export async function raiseCounter(
  counters: Collection<CounterDocument>,
  pets: Collection<PetDocument>,
  atLeast = 0n,
): Promise<void> {
  const highest = await pets.findOne(
    { _id: { $gte: Long.ZERO, $lte: toLong(MAX_PET_ID) } },
    { projection: { _id: 1 }, sort: { _id: -1 }, ...LATEST },
  );
  const ids = [toLong(atLeast), highest?._id ?? Long.ZERO, LAST_ALLOCATED];
  const last = { $toLong: { $ceil: { $max: ids } } };
  const raise = () => counters.updateOne({ _id: 'pets' }, [{ $set: { last } }], { upsert: true });
  try {
    await raise();
  } catch (error) {
    // Another process has created the counter at the same time.
    if (duplicateField(error) !== '_id') throw error;
    await raise();
  }
}
