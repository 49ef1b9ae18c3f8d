import { type Collection, Long } from 'mongodb';
import { PetIdsExhausted, StorageUnavailable } from '../../application/errors.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import type { Deadline } from './deadline.ts';
import { type CounterDocument, type PetDocument, toLong } from './schema.ts';

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
      const counter = await this.#counters.findOneAndUpdate(
        { _id: 'pets', last: { $gte: Long.ZERO, $lte: toLong(MAX_PET_ID - count) } },
        { $inc: { last: toLong(count) } },
        { returnDocument: 'after' },
      );
      if (counter !== null) {
        const first = lastOf(counter) - count + 1n;
        return Array.from({ length: Number(count) }, (_, index) => first + BigInt(index));
      }
      const left = await this.#left();
      if (left === undefined) this.#behind = true;
      else if (left <= 0n) throw new PetIdsExhausted();
      else if (left < count) count = left;
    }
    throw new StorageUnavailable('the counter of pet ids is damaged, or was changed again and again');
  }

  /** How many ids the range still holds, or `undefined` when the counter is missing or makes no sense. */
  async #left(): Promise<bigint | undefined> {
    const counter = await this.#counters.findOne({ _id: 'pets', last: { $gte: Long.ZERO } }, LATEST);
    return counter === null ? undefined : MAX_PET_ID - lastOf(counter);
  }
}

/** Also of a counter that somebody has set by hand, to a number that is no long. */
function lastOf({ last }: CounterDocument): bigint {
  return BigInt(last.toString());
}

/** What the primary has now, whether or not a majority has it yet. */
const LATEST = { readPreference: 'primary', readConcern: { level: 'local' } } as const;

/**
 * Makes the counter if there is none, and brings it up to the highest id in use. Safe at any time and from several
 * places at once: it never lowers the counter, so that no id above can be given twice, and uniqueness is the
 * primary key's business anyway.
 */
export async function raiseCounter(
  counters: Collection<CounterDocument>,
  pets: Collection<PetDocument>,
): Promise<void> {
  const highest = await pets.findOne(
    { _id: { $gte: Long.ZERO } },
    { projection: { _id: 1 }, sort: { _id: -1 }, ...LATEST },
  );
  await counters.updateOne({ _id: 'pets' }, { $max: { last: highest?._id ?? Long.ZERO } }, { upsert: true });
}
