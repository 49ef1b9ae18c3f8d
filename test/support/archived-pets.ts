import { hash } from 'node:crypto';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import type { ArchivedPet, PetArchive } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency } from '../../src/application/ports/pet-repository.ts';
import { aPet } from './pets.ts';

/** A pet of an archive. The fields that `fields` does not contain have the default values of {@link aPet}. */
export function anArchivedPet(fields: Partial<ArchivedPet> & Pick<ArchivedPet, 'id'>): ArchivedPet {
  return { ...aPet(), ...fields };
}

/**
 * Returns `count` different pets. After every three pets, one id is missing: the ids are 1, 2, 3, 5, 6, 7, 9 and so on.
 * Of every five pets, only the first has an idempotency key.
 */
export function archivedPets(count: number): ArchivedPet[] {
  return Array.from({ length: count }, (_, index) => {
    const id = BigInt(index + 1 + Math.floor(index / 3));
    return anArchivedPet({
      id,
      name: `pet ${id} 🐈`,
      categoryId: (id * 1_234_567_890_123_456_789n) % 2n ** 63n,
      status: (['available', 'pending', 'sold'] as const)[index % 3]!,
      ...(index % 5 === 0 && { idempotency: idempotencyFor(`key ${id}`, `body ${id}`) }),
    });
  });
}

export const sha256 = (text: string) => hash('sha256', text);

/** The hashes of an idempotency key and of the body of its request. */
export function idempotencyFor(key: string, body = 'body'): Idempotency {
  return { key: sha256(key), fingerprint: sha256(body) };
}

/** A new in-memory repository without pets. It assigns only ids greater than `lastId`. */
export async function emptyRepositoryAfter(lastId = 0n): Promise<InMemoryPetRepository> {
  const pets = new InMemoryPetRepository();
  await pets.reserve(lastId);
  return pets;
}

/** A new in-memory repository that contains these pets. */
export async function storeWith(pets: readonly ArchivedPet[]): Promise<InMemoryPetRepository> {
  const repository = new InMemoryPetRepository();
  await repository.write(pets);
  return repository;
}

/** An archive with the methods in `methods`. Every other method calls the same method of `archive`. */
export function archiveWith(archive: PetArchive, methods: Partial<PetArchive>): PetArchive {
  return {
    read: (after, limit) => archive.read(after, limit),
    write: (pets) => archive.write(pets),
    greatestId: () => archive.greatestId(),
    lastId: () => archive.lastId(),
    reserve: (id) => archive.reserve(id),
    count: (upTo) => archive.count(upTo),
    ...methods,
  };
}

export function inOrderOfId<T extends { readonly id: bigint }>(pets: readonly T[]): T[] {
  return pets.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
