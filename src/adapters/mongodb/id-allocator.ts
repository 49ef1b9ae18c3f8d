import { type Collection, Long } from 'mongodb';
import { PetIdsExhausted } from '../../application/pets/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import type { Deadline } from './deadline.ts';
import { duplicateField } from './errors.ts';
import { type CounterDocument, type PetDocument, toBigInt, toLong } from './schema.ts';

const MAX_ROUNDS = 4;

type Waiter = PromiseWithResolvers<bigint> & { readonly deadline: Deadline };

/**
 * Gives ids from a counter document that all processes share. At most one update of it is in flight here; those
 * who ask meanwhile wait and are served together by the next, with exactly as many ids as there are waiters, so
 * that no id is kept for later and ids grow with time across processes.
 */
export class IdAllocator {
  readonly #counters: Collection<CounterDocument>;
  readonly #pets: Collection<PetDocument>;
  #waiting: Waiter[] = [];
  #serving = false;
  #behind = false;

  constructor(counters: Collection<CounterDocument>, pets: Collection<PetDocument>) {
    this.#counters = counters;
    this.#pets = pets;
  }

  /** @throws {PetIdsExhausted} */
  next(deadline: Deadline): Promise<bigint> {
    const waiter = { ...Promise.withResolvers<bigint>(), deadline };
    this.#waiting.push(waiter);
    if (!this.#serving) void this.#serve();
    return waiter.promise;
  }

  /** An id from here was already in use: somebody has set the counter back, or added pets without it. */
  fellBehind(): void {
    this.#behind = true;
  }

  /** Never rejects: a failure belongs to those who wait. */
  async #serve(): Promise<void> {
    this.#serving = true;
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      const served = waiting.filter(({ deadline }) => !deadline.passed);
      try {
        for (const { reject, deadline } of waiting) {
          if (deadline.passed) reject(new StorageUnavailable('no id in time'));
        }
        if (served.length === 0) continue;
        const ids = await this.#take(served.length);
        for (const id of ids) served.shift()?.resolve(id);
        this.#waiting.unshift(...served);
      } catch (error) {
        for (const { reject } of served) reject(error);
      }
    }
    this.#serving = false;
  }

  /** At least one id and at most `wanted`: as many as the range still holds. */
  async #take(wanted: number): Promise<bigint[]> {
    let count = BigInt(wanted);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      if (this.#behind) {
        this.#behind = false;
        await raiseCounter(this.#counters, this.#pets);
      }
      // Matches only where the result is in the range: the counter never leaves it, and so never wraps.
      const range = { $gte: Long.ZERO, $lte: toLong(MAX_PET_ID - count) };
      const counter = await this.#counters.findOneAndUpdate(
        { _id: 'pets', last: { ...IS_LONG, ...range } },
        { $inc: { last: toLong(count) } },
        { returnDocument: 'after' },
      );
      if (counter !== null) {
        const first = toBigInt(counter.last) - count + 1n;
        return Array.from({ length: Number(count) }, (_, index) => first + BigInt(index));
      }
      const left = await this.#left();
      if (left === undefined) this.#behind = true;
      else if (left <= 0n) throw new PetIdsExhausted();
      else if (left < count) count = left;
    }
    throw new StorageUnavailable('the counter of pet ids was changed again and again');
  }

  /** How many ids the range still holds, or `undefined` when the counter is missing or makes no sense. */
  async #left(): Promise<bigint | undefined> {
    const counter = await this.#counters.findOne(SOUND_COUNTER, LATEST);
    return counter === null ? undefined : MAX_PET_ID - toBigInt(counter.last);
  }
}

/** A list is of the type of its elements, too. */
const IS_LONG = { $type: 'long', $not: { $type: 'array' } } as const;

/** The counter, where it is an id or 0. */
export const SOUND_COUNTER = {
  _id: 'pets',
  last: { ...IS_LONG, $gte: Long.ZERO, $lte: toLong(MAX_PET_ID) },
} as const;

/** What the primary has now, whether or not a majority has it yet. */
const LATEST = { readConcern: { level: 'local' } } as const;

/** The id that the counter says was the last one: a number in the range, rounded up. Anything else counts for nothing. */
const LAST_GIVEN = {
  $cond: [
    {
      $and: [{ $isNumber: '$last' }, { $gte: ['$last', Long.ZERO] }, { $lte: ['$last', toLong(MAX_PET_ID)] }],
    },
    '$last',
    Long.ZERO,
  ],
};

/**
 * Makes the counter if there is none, brings it up to the highest id in use, and makes an id of it where somebody has
 * set it to something else. Safe at any time and from several places at once: one update on the server, which never
 * lowers a counter that is an id. No id is stored twice in any case: the primary key refuses that.
 *
 * @param atLeast an id that must never be given, and none below it
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
  const ids = [toLong(atLeast), highest?._id ?? Long.ZERO, LAST_GIVEN];
  const last = { $toLong: { $ceil: { $max: ids } } };
  const raise = () => counters.updateOne({ _id: 'pets' }, [{ $set: { last } }], { upsert: true });
  try {
    await raise();
  } catch (error) {
    // Somebody else has made it at the same time.
    if (duplicateField(error) !== '_id') throw error;
    await raise();
  }
}
