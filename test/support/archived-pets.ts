import { createHash } from 'node:crypto';
import type { ArchivedPet } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency } from '../../src/application/ports/pet-repository.ts';

/** An archived pet, with defaults for the fields that a test leaves out. */
export function anArchivedPet(fields: Partial<ArchivedPet> & Pick<ArchivedPet, 'id'>): ArchivedPet {
  return { name: 'Rex', categoryId: 7n, status: 'available', ...fields };
}

/** Different pets, with ids from 1 and a gap after every third one. Every fifth pet has an idempotency key. */
export function archivedPets(count: number): ArchivedPet[] {
  return Array.from({ length: count }, (_, index) => {
    const id = BigInt(index + 1 + Math.floor(index / 3));
    return anArchivedPet({
      id,
      name: `pet ${id} 🐈`,
      categoryId: (id * 1_234_567_890_123_456_789n) % 2n ** 63n,
      status: (['available', 'pending', 'sold'] as const)[index % 3]!,
      ...(index % 5 === 0 && { idempotency: idempotency(`key ${id}`) }),
    });
  });
}

export function idempotency(word: string): Idempotency {
  return { key: sha256(`key ${word}`), fingerprint: sha256(`body ${word}`) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
