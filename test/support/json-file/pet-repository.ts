import { IdempotencyKeyTaken, PetIdTaken } from '../../../src/application/moving/errors.ts';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import {
  parseStoredIdempotency,
  parseStoredPage,
  parseStoredPet,
} from '../../../src/application/pets/parse-stored-pet.ts';
import { type ArchivedPet, type PetArchive, samePet } from '../../../src/application/ports/pet-archive.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../../src/application/ports/pet-repository.ts';
import { MAX_PET_ID, type NewPet, type Pet } from '../../../src/domain/pet.ts';
import type { Content, JsonFile, PetRecord } from './json-file.ts';

export class JsonPetRepository implements PetRepository, PetArchive {
  readonly #file: JsonFile;

  constructor(file: JsonFile) {
    this.#file = file;
  }

  async insert(pet: NewPet): Promise<Pet> {
    return this.#file.change((content) => add(content, pet));
  }

  async insertOnce(pet: NewPet, { key, fingerprint }: Idempotency): Promise<Inserted> {
    return this.#file.change((content) => {
      const known = content.pets.find((record) => record.key === key);
      if (known === undefined) return { pet: add(content, pet, { key, fingerprint }), replayed: false };
      if (known.fingerprint !== fingerprint) throw new IdempotencyKeyReused();
      return { pet: toPet(known), replayed: true };
    });
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    const record = this.#file.read().pets.find((one) => BigInt(one.id) === id);
    return record && toPet(record);
  }

  async list({ status, after = 0n, limit }: PetQuery): Promise<readonly Pet[]> {
    const records = this.#file
      .read()
      .pets.filter((record) => BigInt(record.id) > after && (status ?? record.status) === record.status);
    return parseStoredPage(records.slice(0, limit), 0n, toPet);
  }

  async read(after: bigint, limit: number): Promise<readonly ArchivedPet[]> {
    const records = this.#file.read().pets.filter(({ id }) => BigInt(id) > after);
    return parseStoredPage(records.slice(0, limit), after, toArchived);
  }

  async write(pets: readonly ArchivedPet[]): Promise<void> {
    this.#file.change((content) => {
      for (const pet of pets) put(content, pet);
      content.pets.sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    });
  }

  async greatestId(): Promise<bigint> {
    return BigInt(this.#file.read().pets.at(-1)?.id ?? 0);
  }

  async lastId(): Promise<bigint> {
    return BigInt(this.#file.read().lastId);
  }

  async reserve(id: bigint): Promise<void> {
    this.#file.change((content) => reserve(content, id));
  }

  async count(upTo: bigint): Promise<number> {
    return this.#file.read().pets.filter(({ id }) => BigInt(id) <= upTo).length;
  }
}

function add(content: Content, pet: NewPet, idempotency?: Idempotency): Pet {
  const id = BigInt(content.lastId) + 1n;
  if (id > MAX_PET_ID) throw new PetIdsExhausted();
  content.lastId = String(id);
  const record = toRecord({ ...pet, id, ...(idempotency && { idempotency }) });
  content.pets.push(record);
  return toPet(record);
}

function put(content: Content, pet: ArchivedPet): void {
  const { id, idempotency } = pet;
  const there = content.pets.find((record) => BigInt(record.id) === id);
  if (there !== undefined) {
    if (!samePet(toArchived(there), pet)) throw new PetIdTaken(id);
    return;
  }
  if (idempotency && content.pets.some(({ key }) => key === idempotency.key))
    throw new IdempotencyKeyTaken(id);
  content.pets.push(toRecord(pet));
  reserve(content, id);
}

function reserve(content: Content, id: bigint): void {
  if (id > BigInt(content.lastId)) content.lastId = String(id);
}

function toRecord({ id, name, categoryId, status, idempotency }: ArchivedPet): PetRecord {
  return { id: String(id), name, categoryId: String(categoryId), status, ...idempotency };
}

function toPet({ id, name, categoryId, status }: PetRecord): Pet {
  return parseStoredPet(BigInt(id), { name, categoryId: BigInt(categoryId), status });
}

function toArchived(record: PetRecord): ArchivedPet {
  return parseStoredIdempotency(toPet(record), record.key, record.fingerprint);
}
