import { expect, it } from 'vitest';
import { apiKeyChecksum, idempotencyChecksum, petChecksum } from '../../../src/adapters/sqlite/checksum.ts';
import { newPet } from '../../../src/domain/pet.ts';

const REX = newPet({ name: 'Rex 🐈', categoryId: -7n, status: 'sold' });

// Existing files contain these checksums.
it('the checksum of a pet is the same in every build', () => {
  expect(petChecksum(1n, REX)).toBe(3_484_527_538);
  expect(idempotencyChecksum(1n, 'ab', 'cd')).toBe(3_431_445_330);
  expect(apiKeyChecksum(['id', 'digest', 7n, null, 12, 3])).toBe(1_879_125_381);
});
