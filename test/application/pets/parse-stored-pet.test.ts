import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { parseStoredPage, parseStoredPet } from '../../../src/application/pets/parse-stored-pet.ts';
import { MAX_PET_ID, petWithId } from '../../../src/domain/pet.ts';
import { aPet } from '../../support/pets.ts';

const REX = aPet({ status: 'sold' });

function failure(work: () => unknown): DamagedPet {
  try {
    work();
  } catch (error) {
    if (error instanceof DamagedPet) return error;
    throw error;
  }
  throw new Error('the record was accepted');
}

// Other tests damage idempotency keys (test/contracts/damaged-pets.ts) and hashes (test/domain/api-key.test.ts).
it.each([
  [0n, REX, 'id must be an integer from 1 to 9007199254740991'],
  [MAX_PET_ID + 1n, REX, 'id must be an integer from 1 to 9007199254740991'],
  [1n, { ...REX, status: 'Sold' }, 'status must be one of available, pending, sold'],
] as const)('a stored pet with an invalid id or field is damaged: %s %o', (id, fields, problem) => {
  expect(failure(() => parseStoredPet(id, fields))).toMatchObject({
    id,
    problem,
    before: [],
    message: `the pet with the id ${id} is damaged in the storage: ${problem}`,
  });
});

it('the error about a damaged pet does not contain its fields', () => {
  const rex = petWithId(1n, aPet({ name: 'secret' }));
  const error = failure(() =>
    parseStoredPage([rex, { ...rex, id: 2n, name: 'secret\n' }], 0n, (pet) => parseStoredPet(pet.id, pet)),
  );
  expect(error.before).toStrictEqual([rex]);
  // Loggers format errors like this.
  expect(inspect(error)).not.toContain('secret');
});

const pets = [3n, 5n, 4n].map((id) => petWithId(id, REX));

it('a stored page is damaged when its ids do not ascend or do not start after the requested id', () => {
  const outOfOrder = failure(() => parseStoredPage(pets, 2n, (pet) => pet));
  expect(outOfOrder).toMatchObject({ id: 4n, problem: 'id must be greater than 5, which comes before it' });
  expect(outOfOrder.before).toStrictEqual(pets.slice(0, 2));
  expect(failure(() => parseStoredPage(pets, 3n, (pet) => pet))).toMatchObject({ id: 3n, before: [] });
});

it('parseStoredPage throws errors other than DamagedPet unchanged', () => {
  const bug = () => parseStoredPage(pets, 0n, () => JSON.parse('{'));
  expect(bug).toThrow(SyntaxError);
});
