import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { DamagedPet, IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import type { Idempotency, Inserted } from '../../application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageMeter } from '../../application/ports/storage-health.ts';
import { MAX_PET_ID, type NewPet, petWithId } from '../../domain/pet.ts';
import { hashToBlob } from './checksum.ts';
import { type ArchivedPetRow, type PetReader, petReader, toPetValues } from './pet-row.ts';
import { BUSY_PAUSE_MS, BUSY_TIMEOUT_MS, isBusy, isConstraint, translated } from './errors.ts';
import type { GuardedWrite } from './file-guard.ts';
import { INSERT_STATEMENTS, prepareAll, type Prepared } from './statements.ts';

/** How many inserts may wait. They pile up only while another connection holds the write lock. */
const MAX_WAITING = 10_000;

type Waiting = PromiseWithResolvers<Inserted> & {
  readonly pet: NewPet;
  readonly idempotency: Idempotency | undefined;
  /** When to give up, on the clock of `performance.now()`. */
  readonly untilMs: number;
};

/**
 * Group commit: all inserts of two turns of the event loop share a transaction, and their promises resolve after its
 * commit. A commit waits for the disk, and a hundred rows hardly take longer than one.
 */
export class InsertQueue {
  readonly #guardedWrite: GuardedWrite;
  readonly #meter: StorageMeter | undefined;
  readonly #timeoutMs: number;
  readonly #statements: Prepared<typeof INSERT_STATEMENTS>;
  readonly #toArchivedPet: PetReader['toArchivedPet'];
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;
  /** The last id that was assigned, during a transaction. */
  #lastId = 0n;

  /**
   * @param meter absent when nothing is measured
   * @param timeoutMs how long an insert waits for the write lock, {@link BUSY_TIMEOUT_MS} by default
   */
  constructor(
    db: DatabaseSync,
    guardedWrite: GuardedWrite,
    meter?: StorageMeter,
    timeoutMs = BUSY_TIMEOUT_MS,
  ) {
    this.#guardedWrite = guardedWrite;
    this.#meter = meter;
    this.#timeoutMs = timeoutMs;
    this.#statements = prepareAll(db, INSERT_STATEMENTS, { returnArrays: true });
    this.#toArchivedPet = petReader(db).toArchivedPet;
  }

  /**
   * @throws {IdempotencyKeyReused}
   * @throws {PetIdsExhausted}
   * @throws {DamagedPet} when the pet to replay is damaged
   * @throws {StorageUnavailable} including when the queue is closed or full
   */
  async add({ name, categoryId, status }: NewPet, idempotency?: Idempotency): Promise<Inserted> {
    if (this.#closed) throw new StorageUnavailable('the storage is closed');
    if (this.#waiting.length >= MAX_WAITING) {
      throw new StorageUnavailable(`${MAX_WAITING} inserts are waiting already`);
    }
    const waiting: Waiting = {
      // Copies, because the caller may change its objects during the wait.
      pet: { name, categoryId, status },
      idempotency: idempotency && { ...idempotency },
      untilMs: performance.now() + this.#timeoutMs,
      ...Promise.withResolvers<Inserted>(),
    };
    this.#waiting.push(waiting);
    this.#running ??= this.#run();
    return waiting.promise;
  }

  /** Refuses new inserts, and resolves when every earlier one has settled. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Never rejects: every failure goes to the inserts that it concerns. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await turn();
      // The answers of the last batch bring the next requests, and often the first one comes a turn earlier than the
      // rest. With 4, 16 and 32 clients a commit takes 3.9, 13.7 and 27 inserts, and without this turn 2.6, 12 and 20.
      // A turn takes much less time than a commit.
      await turn();
      const batch = this.#waiting;
      try {
        const outcomes = this.#guardedWrite(() => {
          [this.#lastId] = this.#statements.lastId.get() as unknown as readonly [bigint];
          return batch.map((waiting) => [waiting, this.#storeOne(waiting)] as const);
        });
        this.#waiting = [];
        this.#meter?.insertsCommitted(batch.length);
        for (const [{ resolve, reject }, outcome] of outcomes) {
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        }
      } catch (error) {
        const nowMs = performance.now();
        const mayWait = ({ untilMs }: Waiting) => isBusy(error) && nowMs < untilMs;
        this.#waiting = batch.filter(mayWait);
        for (const waiting of batch) if (!mayWait(waiting)) waiting.reject(translated(error));
        await sleep(BUSY_PAUSE_MS);
      }
    }
    this.#running = undefined;
  }

  /** Returns why a single insert is refused, and throws only what fails the whole batch. */
  #storeOne({ pet, idempotency }: Waiting): Inserted | Error {
    try {
      const stored = petWithId(this.#lastId + 1n, pet);
      this.#statements.insert.run(...toPetValues(stored, idempotency));
      this.#lastId = stored.id;
      return { pet: stored, replayed: false };
    } catch (error) {
      // `node:sqlite` has refused a value before SQLite saw it.
      if (error instanceof TypeError) return error;
      if (!isConstraint(error)) throw error;
      // SQLite reports exhausted ids before a taken idempotency key, so look for the key in either case.
      const row = idempotency && this.#statements.byIdempotencyKey.get(hashToBlob(idempotency.key));
      if (row !== undefined) return this.#replay(row as unknown as ArchivedPetRow, idempotency);
      return this.#lastId >= MAX_PET_ID ? new PetIdsExhausted() : error;
    }
  }

  #replay(row: ArchivedPetRow, idempotency: Idempotency | undefined): Inserted | Error {
    try {
      const pet = this.#toArchivedPet(row);
      if (pet.idempotency?.fingerprint !== idempotency?.fingerprint) return new IdempotencyKeyReused();
      return { pet: petWithId(pet.id, pet), replayed: true };
    } catch (error) {
      if (error instanceof DamagedPet) return error;
      throw error;
    }
  }
}
