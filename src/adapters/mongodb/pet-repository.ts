import { type Collection, type Db, UUID } from 'mongodb';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../application/pets/errors.ts';
import type {
  Idempotency,
  InsertResult,
  PetQuery,
  PetRepository,
} from '../../application/ports/pet-repository.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageMeter } from '../../application/ports/storage-health.ts';
import { type NewPet, type Pet, petWithId } from '../../domain/pet.ts';
import { CALL_TIMEOUT_MS } from './connection/deadline.ts';
import type { ConfirmedReads } from './confirmed-reads.ts';
import { PetClaims } from './pet-claims.ts';
import { hasPetId, isWrittenBy, toArchivedPet } from './pet-document.ts';
import { PetReader } from './pet-reader.ts';
import { toBigInt } from './int64.ts';
import { type PetDocument, petsOf } from './schema/collections.ts';

const isMissing = (result: unknown) => result == null;

export type MongoPetOptions = {
  readonly timeoutMs?: number | undefined;
  readonly meter?: StorageMeter | undefined;
  /** Why no pet may be stored. `isFresh`: an answer at most 1 s old. Default: pets may be stored. */
  readonly schemaProblem?: (isFresh: boolean) => Promise<string | undefined>;
};

export class MongoPetRepository implements PetRepository {
  readonly #pets: Collection<PetDocument>;
  readonly #reader: PetReader;
  readonly #claims: PetClaims;
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
    this.#reads = reads;
    this.#schemaProblem = schemaProblem;
    this.#timeoutMs = timeoutMs;
  }

  async insert(pet: NewPet): Promise<Pet> {
    const inserted = await this.#store(pet);
    return inserted.pet;
  }

  async insertOnce(pet: NewPet, { ...idempotency }: Idempotency): Promise<InsertResult> {
    try {
      return await this.#store(pet, idempotency);
    } catch (error) {
      if (!(error instanceof PetIdsExhausted)) throw error;
      // The key may belong to an existing pet.
      const filter = { 'idem.k': idempotency.key };
      const existing = await this.#read(() => this.#pets.findOne(filter), isMissing);
      if (existing === null) throw error;
      return replay(existing, idempotency);
    }
  }

  findById(id: bigint): Promise<Pet | undefined> {
    // Pets never change, so only a missing pet can be out of date.
    return this.#read(() => this.#reader.find(id), isMissing);
  }

  list({ after = 0n, ...query }: PetQuery): Promise<readonly Pet[]> {
    return this.#read(() => this.#reader.page({ ...query, after }));
  }

  #read<T>(read: () => Promise<T>, isMiss?: (result: T) => boolean): Promise<T> {
    return this.#reads.read(this.#timeoutMs, read, isMiss);
  }

  /** Copies the pet, because the caller may change its object during the call. */
  #store({ ...pet }: NewPet, idempotency?: Idempotency): Promise<InsertResult> {
    return this.#reads.watch.withDeadline(this.#timeoutMs, async (deadline) => {
      // Without the index of keys, MongoDB would accept a second pet with the same key.
      const problem = await deadline.retry(async () => this.#schemaProblem?.(idempotency !== undefined));
      if (problem !== undefined) throw new StorageUnavailable(problem);
      const token = new UUID();
      const stored = await this.#claims.add({ pet, idempotency, token, deadline });
      if (!isWrittenBy(token, stored) && idempotency !== undefined) return replay(stored, idempotency);
      return { pet: petWithId(toBigInt(stored._id), pet), replayed: false };
    });
  }
}

function replay(existing: PetDocument, { fingerprint }: Idempotency): InsertResult {
  if (!hasPetId(existing)) throw new StorageUnavailable('the document with the idempotency key is not a pet');
  const pet = toArchivedPet(existing);
  if (pet.idempotency?.fingerprint !== fingerprint) throw new IdempotencyKeyReused();
  return { pet: petWithId(pet.id, pet), replayed: true };
}
