import { createHash } from 'node:crypto';
import type { ArchivedPet } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency } from '../../src/application/ports/pet-repository.ts';

/** What a test does not care about is filled in. */
export function anArchivedPet(fields: Partial<ArchivedPet> & Pick<ArchivedPet, 'id'>): ArchivedPet {
  return { name: 'Rex', categoryId: 7n, status: 'available', ...fields };
}

/** So many different pets, of ids from 1, with a gap of one after every third; a fifth of them with a key. */
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
