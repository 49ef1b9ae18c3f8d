import { type Collection, Long } from 'mongodb';
import { PetIdsExhausted } from '../../application/pets/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageMeter } from '../../application/ports/storage-meter.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import type { Deadline } from './connection/deadline.ts';
import { IS_LONG, LATEST, raiseCounter, VALID_COUNTER } from './id-counter.ts';
import type { CounterDocument, PetDocument } from './schema/collections.ts';
import { toBigInt, toLong } from './schema/long.ts';

const MAX_ATTEMPTS = 4;

/** Half of what an insert may take: after an update that got lost, there is time for another. */
const ALLOCATION_TIMEOUT_MS = 5_000;

type Waiter = PromiseWithResolvers<bigint> & { readonly deadline: Deadline };

/**
 * Allocates pet ids from a counter document that all processes share. At most one update of the counter is in flight.
 * Callers that arrive during an update share the next one, which allocates exactly one id for each of them. No id is
 * kept for later: ids ascend with time across processes.
 *
 * An update whose answer does not come is abandoned, and its ids are never used. The driver has been seen to wait forever
 * for an update whose connection was reset: without the limit, all later inserts would wait with it.
 */
export class IdAllocator {
  readonly #counters: Collection<CounterDocument>;
  readonly #pets: Collection<PetDocument>;
  #waiters: Waiter[] = [];
  readonly #meter: StorageMeter | undefined;
  #isServing = false;
  #isBehind = false;

  constructor(
    counters: Collection<CounterDocument>,
    pets: Collection<PetDocument>,
    meter: StorageMeter | undefined,
  ) {
    this.#counters = counters;
    this.#pets = pets;
    this.#meter = meter;
  }

  /**
   * Does not retry, so it also rejects with errors of the driver.
   *
   * @throws {PetIdsExhausted} when no id up to 2^53 - 1 is left
   * @throws {StorageUnavailable} if the deadline passes in the queue, and if other processes keep changing the counter
   */
  next(deadline: Deadline): Promise<bigint> {
    const waiter = { ...Promise.withResolvers<bigint>(), deadline };
    this.#waiters.push(waiter);
    if (!this.#isServing) void this.#serve();
    return waiter.promise;
  }

  /** Reports that an allocated id was in use: the counter was set back, or pets were added without it. */
  fellBehind(): void {
    this.#isBehind = true;
  }

  /** Never rejects: a failure rejects the waiters. */
  async #serve(): Promise<void> {
    this.#isServing = true;
    while (this.#waiters.length > 0) {
      const waiters = this.#waiters;
      this.#waiters = [];
      const served = waiters.filter(({ deadline }) => !deadline.hasPassed);
      try {
        for (const { reject, deadline } of waiters) {
          if (deadline.hasPassed) reject(new StorageUnavailable('no pet id was allocated in time'));
        }
        if (served.length === 0) continue;
        for (const id of await this.#allocateInTime(served.length)) served.shift()?.resolve(id);
        this.#waiters.unshift(...served);
      } catch (error) {
        for (const { reject } of served) reject(error);
      }
    }
    this.#isServing = false;
  }

  /** @returns no id if the update is abandoned */
  async #allocateInTime(wanted: number): Promise<readonly bigint[]> {
    const allocation = this.#allocate(wanted);
    const abandoned = Promise.withResolvers<readonly bigint[]>();
    const timer = setTimeout(() => abandoned.resolve([]), ALLOCATION_TIMEOUT_MS);
    try {
      return await Promise.race([allocation, abandoned.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @returns 1 to `wanted` ids: fewer than `wanted` only when the range is nearly exhausted */
  async #allocate(wanted: number): Promise<bigint[]> {
    let count = BigInt(wanted);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (this.#isBehind) {
        this.#isBehind = false;
        await raiseCounter(this.#counters, this.#pets);
      }
      // Matches only if the result stays in the range: the counter never exceeds the last id.
      const range = { $gte: Long.ZERO, $lte: toLong(MAX_PET_ID - count) };
      const counter = await this.#counters.findOneAndUpdate(
        { _id: 'pets', last: { ...IS_LONG, ...range } },
        { $inc: { last: toLong(count) } },
        { returnDocument: 'after' },
      );
      if (counter !== null) {
        const first = toBigInt(counter.last) - count + 1n;
        this.#meter?.idsAllocated(Number(count));
        return Array.from({ length: Number(count) }, (_, index) => first + BigInt(index));
      }
      const remaining = await this.#remainingIds();
      if (remaining === undefined) this.#isBehind = true;
      else if (remaining <= 0n) throw new PetIdsExhausted();
      else if (remaining < count) count = remaining;
    }
    throw new StorageUnavailable('other processes kept changing the counter of pet ids');
  }

  /** @returns `undefined` if the counter is missing or does not hold an id */
  async #remainingIds(): Promise<bigint | undefined> {
    const counter = await this.#counters.findOne(VALID_COUNTER, LATEST);
    return counter === null ? undefined : MAX_PET_ID - toBigInt(counter.last);
  }
}
