import { describe, expect, it } from 'vitest';
import {
  apiKeyChecksum,
  idempotencyChecksum,
  isChecksum,
  petChecksum,
} from '../../../src/adapters/sqlite/checksum.ts';
import { aPet } from '../../support/pets.ts';

const REX = aPet({ name: 'Rex 🐈', categoryId: -7n, status: 'sold' });

// Existing files contain them.
it('the checksums of every build are the same', () => {
  expect(petChecksum(1n, REX)).toBe(3_484_527_538);
  expect(idempotencyChecksum(1n, 'ab', 'cd')).toBe(3_431_445_330);
  expect(apiKeyChecksum(['id', 'digest', 7n, null, 12, 3])).toBe(1_879_125_381);
});

describe('isChecksum', () => {
  it.each([
    [7n, 7, true],
    [8n, 7, false],
    ['7', 7, false],
    [null, 7, false],
    [-1n, 7, true],
    [null, undefined, true],
    [7n, undefined, false],
    [-1n, undefined, false],
  ])('%s, where %s is expected: %s', (stored, expected, result) => {
    expect(isChecksum(stored, expected)).toBe(result);
  });
});
