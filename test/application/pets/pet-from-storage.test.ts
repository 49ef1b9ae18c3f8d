import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import {
  archivedFromStorage,
  pageFromStorage,
  petFromStorage,
} from '../../../src/application/pets/pet-from-storage.ts';
import { INT64_MAX, INT64_MIN } from '../../../src/domain/int64.ts';
import { MAX_PET_ID, newPet, storedPet } from '../../../src/domain/pet.ts';

const REX = { name: 'Rex', categoryId: 7n, status: 'sold' } as const;

function failure(work: () => unknown): DamagedPet {
  try {
    work();
  } catch (error) {
    if (error instanceof DamagedPet) return error;
    throw error;
  }
  throw new Error('should have failed');
}

describe('a pet from a storage', () => {
  it.each([
    [1n, REX],
    [MAX_PET_ID, { ...REX, categoryId: INT64_MAX }],
    [7n, { name: '🐈'.repeat(255), categoryId: INT64_MIN, status: 'pending' }],
  ] as const)('is itself: %s', (id, fields) => {
    expect(petFromStorage(id, fields)).toStrictEqual({ id, ...fields });
  });

  it.each([
    [0n, REX, 'id must be an integer from 1 to 9007199254740991'],
    [MAX_PET_ID + 1n, REX, 'id must be an integer from 1 to 9007199254740991'],
    [1n, { ...REX, categoryId: INT64_MAX + 1n }, 'categoryId must be a signed 64-bit integer'],
    [1n, { ...REX, categoryId: 7 }, 'categoryId must be a signed 64-bit integer'],
    [1n, { ...REX, name: 'x\ud800' }, 'name must be well-formed Unicode, without lone surrogates'],
    [1n, { ...REX, name: ' ' }, 'name must contain a character that is not white space'],
    [1n, { ...REX, name: '🐈'.repeat(256) }, 'name must be at most 255 characters long'],
    [1n, { ...REX, status: 'Sold' }, 'status must be one of available, pending, sold'],
  ] as const)('is damaged: %s %o', (id, fields, problem) => {
    expect(failure(() => petFromStorage(id, fields))).toMatchObject({
      id,
      problem,
      message: `the pet with the id ${id} is damaged in the storage: ${problem}`,
    });
  });

  it('tells nothing of what it was when it is damaged', () => {
    const rex = storedPet(1n, newPet({ name: 'secret', categoryId: 7n }));
    const error = failure(() =>
      pageFromStorage([rex, { ...rex, id: 2n, name: 'secret\n' }], 0n, (pet) => petFromStorage(pet.id, pet)),
    );
    expect(error.before).toStrictEqual([rex]);
    // What a log makes of an error.
    expect(inspect(error)).not.toContain('secret');
  });
});

describe('a page from a storage', () => {
  const pets = [3n, 5n, 4n].map((id) => storedPet(id, newPet(REX)));

  it('is in ascending order, and begins after the id asked for', () => {
    const outOfOrder = failure(() => pageFromStorage(pets, 2n, (pet) => pet));
    expect(outOfOrder).toMatchObject({ id: 4n, problem: 'id must be greater than 5, which comes before it' });
    expect(outOfOrder.before).toStrictEqual(pets.slice(0, 2));
    expect(failure(() => pageFromStorage(pets, 3n, (pet) => pet))).toMatchObject({ id: 3n, before: [] });
  });

  it('lets a bug be a bug', () => {
    const bug = () => pageFromStorage(pets, 0n, () => JSON.parse('{'));
    expect(bug).toThrow(SyntaxError);
  });
});

describe('a pet with its idempotency', () => {
  const rex = storedPet(1n, newPet(REX));
  const digest = 'a'.repeat(64);

  it('has both or neither', () => {
    expect(archivedFromStorage(rex, undefined, undefined)).toStrictEqual(rex);
    expect(archivedFromStorage(rex, digest, digest)).toStrictEqual({
      ...rex,
      idempotency: { key: digest, fingerprint: digest },
    });
  });

  it.each([
    [digest, undefined],
    [undefined, digest],
    [digest, digest.toUpperCase()],
    [digest.slice(1), digest],
    [7, digest],
  ])('is damaged: %s %s', (key, fingerprint) => {
    expect(failure(() => archivedFromStorage(rex, key, fingerprint)).id).toBe(1n);
  });
});
