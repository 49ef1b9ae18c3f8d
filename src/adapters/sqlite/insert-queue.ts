import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { DamagedPet, IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { Idempotency, Inserted } from '../../application/ports/pet-repository.ts';
import { MAX_PET_ID, type NewPet, storedPet } from '../../domain/pet.ts';
import { BUSY_DEADLINE_MS, BUSY_PAUSE_MS, transaction } from './busy.ts';
import { isBusy, isConstraint, isUnbindable, translated } from './errors.ts';
import { type Guard, unguarded, type WriteOptions } from './open-files.ts';
import { type PetReader, petReader } from './pet-reader.ts';
import { type ArchivedRow, INSERT, QUERIES } from './statements.ts';

/** How many inserts may wait. They pile up only while another connection holds the file. */
export const MAX_WAITING = 10_000;

type Waiting = {
  readonly pet: NewPet;
  readonly key: Buffer | null;
  readonly fingerprint: Buffer | null;
  /** When to give up, on the clock of `performance.now()`. */
  readonly until: number;
  readonly resolve: (inserted: Inserted) => void;
  readonly reject: (error: unknown) => void;
};

/** What one of a batch is told once the whole batch is durable. */
type Tell = () => void;

/**
 * Group commit: the inserts of one turn of the event loop are one transaction, and nobody hears of success before it
 * is committed. A commit waits for the disk, and hardly longer for a hundred rows than for one.
 */
export class InsertQueue {
  readonly #db: DatabaseSync;
  readonly #deadlineMs: number;
  readonly #guard: Guard;
  readonly #insert: StatementSync;
  readonly #byKey: StatementSync;
  readonly #lastId: StatementSync;
  readonly #toArchivedPet: PetReader['toArchivedPet'];
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(db: DatabaseSync, { deadlineMs = BUSY_DEADLINE_MS, guard = unguarded }: WriteOptions = {}) {
    this.#db = db;
    this.#deadlineMs = deadlineMs;
    this.#guard = guard;
    this.#insert = db.prepare(INSERT);
    this.#toArchivedPet = petReader(db).toArchivedPet;
    this.#byKey = db.prepare(QUERIES.byIdempotencyKey);
    this.#lastId = db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'pets'");
  }

  async add({ name, categoryId, status }: NewPet, idempotency?: Idempotency): Promise<Inserted> {
    if (this.#closed) throw new StorageUnavailable('the storage is closed');
    if (this.#waiting.length >= MAX_WAITING) {
      throw new StorageUnavailable(`${MAX_WAITING} inserts are waiting already`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Inserted>();
    this.#waiting.push({
      // Copies: the caller may change what it passed while we wait.
      pet: { name, categoryId, status },
      // What is not 64 hex digits becomes shorter, which the table refuses.
      key: idempotency === undefined ? null : Buffer.from(idempotency.key, 'hex'),
      fingerprint: idempotency === undefined ? null : Buffer.from(idempotency.fingerprint, 'hex'),
      until: performance.now() + this.#deadlineMs,
      resolve,
      reject,
    });
    this.#running ??= this.#run();
    return promise;
  }

  /** Resolves when everything that was added has its outcome. Whoever comes later is refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
  }

  /** Never rejects: a failure belongs to those who wait. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      await turn();
      const batch = this.#waiting;
      try {
        const outcomes = this.#guard(() =>
          transaction(this.#db, () => batch.map((waiting) => this.#storeOne(waiting))),
        );
        this.#waiting = [];
        for (const tell of outcomes) tell();
      } catch (error) {
        const now = performance.now();
        const mayWait = ({ until }: Waiting) => isBusy(error) && now < until;
        this.#waiting = batch.filter(mayWait);
        for (const waiting of batch) if (!mayWait(waiting)) waiting.reject(translated(error));
        if (this.#waiting.length > 0) await sleep(BUSY_PAUSE_MS);
      }
    }
    this.#running = undefined;
  }

  /** Throws only what is a failure of the whole batch. */
  #storeOne(waiting: Waiting): Tell {
    const { pet, key, fingerprint, resolve, reject } = waiting;
    try {
      const { lastInsertRowid } = this.#insert.run(pet.name, pet.categoryId, pet.status, key, fingerprint);
      const inserted = { pet: storedPet(BigInt(lastInsertRowid), pet), replayed: false };
      return () => resolve(inserted);
    } catch (error) {
      if (isUnbindable(error)) return () => reject(error);
      if (!isConstraint(error)) throw error;
      // Also when the ids have run out, of which SQLite hears first.
      const known = this.#byKey.get(key) as ArchivedRow | undefined;
      if (known !== undefined) return this.#replay(known, waiting);
      const failure = this.#refusal(error);
      return () => reject(failure);
    }
  }

  #replay(known: ArchivedRow, { fingerprint, resolve, reject }: Waiting): Tell {
    try {
      const there = this.#toArchivedPet(known);
      if (there.idempotency?.fingerprint !== fingerprint?.toString('hex')) {
        return () => reject(new IdempotencyKeyReused());
      }
      return () => resolve({ pet: storedPet(there.id, there), replayed: true });
    } catch (error) {
      if (!(error instanceof DamagedPet)) throw error;
      return () => reject(error);
    }
  }

  /** Why the table refuses a row. */
  #refusal(error: unknown): unknown {
    const last = this.#lastId.get() as { seq: bigint } | undefined;
    return last !== undefined && last.seq >= MAX_PET_ID ? new PetIdsExhausted() : error;
  }
}
