import { expect, test } from 'vitest';
import { petJson, petsJson } from '../../../src/adapters/json/pet-json.ts';
import { INT64_MAX } from '../../../src/domain/int64.ts';
import { MAX_PET_ID, storedPet } from '../../../src/domain/pet.ts';
import { aPet } from '../../support/pets.ts';

const REX = '"name":"Rex","categoryId":7,"status":"available"';

test('pets that share a place are not mixed up, however often they take turns', () => {
  const first = storedPet(1n, aPet());
  const second = storedPet(1025n, aPet());
  for (let turn = 0; turn < 3; turn++) {
    expect(petJson(first)).toBe(`{"id":1,${REX}}`);
    expect(petJson(second)).toBe(`{"id":1025,${REX}}`);
  }
});

test('another pet with the same id is another pet', () => {
  expect(petJson(storedPet(2n, aPet()))).toBe(`{"id":2,${REX}}`);
  expect(petJson(storedPet(2n, aPet({ name: 'Tom' })))).toContain('"Tom"');
});

test('a page is an array, and every digit is there', () => {
  const page = [storedPet(3n, aPet()), storedPet(MAX_PET_ID, aPet({ categoryId: INT64_MAX }))];
  expect(petsJson(page)).toBe(
    `[{"id":3,${REX}},{"id":9007199254740991,"name":"Rex","categoryId":9223372036854775807,"status":"available"}]`,
  );
  expect(petsJson([])).toBe('[]');
});
