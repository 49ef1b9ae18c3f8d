import { expect, test } from 'vitest';
import { petJson } from '../../../src/adapters/json/exact-json.ts';
import { INT64_MAX, INT64_MIN, MAX_PET_ID, storedPet } from '../../../src/domain/pet.ts';
import { aPet } from '../../support/pets.ts';

test('the fields of a pet, in the order of the specification', () => {
  expect(JSON.stringify(petJson(storedPet(1n, aPet())))).toBe(
    '{"id":1,"name":"Rex","categoryId":7,"status":"available"}',
  );
});

test.each([
  0n,
  -1n,
  2n ** 53n - 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  -(2n ** 53n) - 1n,
  INT64_MAX,
  INT64_MIN,
])('every digit of the category %s', (categoryId) => {
  const json = JSON.stringify(petJson(storedPet(MAX_PET_ID, aPet({ categoryId }))));
  expect(json).toBe(`{"id":9007199254740991,"name":"Rex","categoryId":${categoryId},"status":"available"}`);
});

test.each(['"', '\\', 'a\u2028b', '🐈', 'a\u0300', '</script>'])('the name %j', (name) => {
  const json = JSON.stringify(petJson(storedPet(1n, aPet({ name }))));
  expect(json).toContain(`"name":${JSON.stringify(name)},`);
});
