import { type Collection, type Db, UUID } from 'mongodb';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageMeter } from '../../application/ports/storage-health.ts';
import { type NewPet, type Pet, petWithId } from '../../domain/pet.ts';
import { CALL_TIMEOUT_MS, type Deadline } from './connection/deadline.ts';
import { oncePerSecond } from '../../application/ports/once-per-second.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { PetClaims } from './pet-claims.ts';
import { hasPetId, isWrittenBy, toArchivedPet } from './pet-document.ts';
import { PetReader } from './pet-reader.ts';
import { IDEMPOTENCY_INDEX } from './schema/collection-plans.ts';
import { toBigInt } from './int64.ts';
import { type PetDocument, petsOf } from './schema/collections.ts';
import { indexesOf, isReady } from './schema/indexes.ts';

const isMissing = (result: unknown) => result == null;

export type MongoPetOptions = {
  /** The limit of every call. Default: 19.5 s. */
  readonly timeoutMs?: number | undefined;
  readonly meter?: StorageMeter | undefined;
  /** Why nothing may be stored now, if so. */
  readonly schemaProblem?: () => Promise<string | undefined>;
};

/** Pets in MongoDB, shared by any number of processes. */
export class MongoPetRepository implements PetRepository {
  readonly #pets: Collection<PetDocument>;
  readonly #reader: PetReader;
  readonly #claims: PetClaims;
  /** Whether a second pet with an idempotency key would be rejected. */
  readonly #hasIndex: ReturnType<typeof oncePerSecond<boolean>>;
  readonly #reads: ConfirmedReads;
  readonly #schemaProblem: MongoPetOptions['schemaProblem'];
  readonly #timeoutMs: number;

  constructor(
    db: Db,
    reads: ConfirmedReads,
    { timeoutMs = CALL_TIMEOUT_MS, meter, schemaProblem }: MongoPetOptions = {},
  ) {
    this.#pets = petsOf(db);
    this.#reader = new PetReader(db);
    this.#claims = new PetClaims(db, reads, meter);
    this.#hasIndex = oncePerSecond(async () => isReady(IDEMPOTENCY_INDEX, await indexesOf(db, 'pets')));
    this.#reads = reads;
    this.#schemaProblem = schemaProblem;
    this.#timeoutMs = timeoutMs;
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#store(pet);
    return inserted.pet;
  }

  async insertOnce(pet: NewPet, { ...idempotency }: Idempotency): Promise<Inserted> {
    try {
      return await this.#store(pet, idempotency);
    } catch (error) {
      if (!(error instanceof PetIdsExhausted)) throw error;
      // The key may belong to an existing pet, which needs no new id.
      const filter = { 'idem.k': idempotency.key };
      const existing = await this.#read(() => this.#pets.findOne(filter), isMissing);
      if (existing === null) throw error;
      return replay(existing, idempotency);
    }
  }

  findById(id: bigint): Promise<Pet | undefined> {
    // Pets never change: only a miss can be out of date.
    return this.#read(() => this.#reader.find(id), isMissing);
  }

  list({ after = 0n, ...query }: PetQuery): Promise<readonly Pet[]> {
    return this.#read(() => this.#reader.page({ ...query, after }));
  }

  #read<T>(read: () => Promise<T>, isMiss?: (result: T) => boolean): Promise<T> {
    return this.#reads.read(this.#timeoutMs, read, isMiss);
  }

  /** Copies the pet: the caller may change its object during the call. */
  #store({ ...pet }: NewPet, idempotency?: Idempotency): Promise<Inserted> {
    return this.#reads.watch.withDeadline(this.#timeoutMs, async (deadline) => {
      const problem = await deadline.retry(async () => this.#schemaProblem?.());
      if (problem !== undefined) throw new StorageUnavailable(problem);
      if (idempotency !== undefined) await this.#requireIndex(deadline);
      const token = new UUID();
      const stored = await this.#claims.add({ pet, idempotency, token, deadline });
      if (!isWrittenBy(token, stored) && idempotency !== undefined) return replay(stored, idempotency);
      return { pet: petWithId(toBigInt(stored._id), pet), replayed: false };
    });
  }

  /**
   * Without the index, the server would accept a second pet with the same key. That is possible for a second after an
   * operator has dropped it.
   *
   * @throws {StorageUnavailable} when the index is missing, or is not found before the deadline
   */
  async #requireIndex(deadline: Deadline): Promise<void> {
    if (await deadline.retry(() => this.#hasIndex.result())) return;
    this.#hasIndex.forget();
    throw new StorageUnavailable(
      `the collection "pets" lacks the index "${IDEMPOTENCY_INDEX.name}"; migrate the database again`,
    );
  }
}

function replay(existing: PetDocument, { fingerprint }: Idempotency): Inserted {
  if (!hasPetId(existing)) throw new StorageUnavailable('the document with the idempotency key is not a pet');
  const pet = toArchivedPet(existing);
  if (pet.idempotency?.fingerprint !== fingerprint) throw new IdempotencyKeyReused();
  return { pet: petWithId(pet.id, pet), replayed: true };
}
