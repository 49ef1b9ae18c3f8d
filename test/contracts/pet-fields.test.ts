import { describe, expect, it } from 'vitest';
import { petJson } from '../../src/adapters/json/exact-json.ts';
import { toPet, toPetDocument } from '../../src/adapters/mongodb/pet-document.ts';
import { parsePetLine, petLines } from '../../src/adapters/ndjson/pet-line.ts';
import { petChecksum } from '../../src/adapters/sqlite/checksum.ts';
import { toPetValues } from '../../src/adapters/sqlite/pet-row.ts';
import { fingerprintOf } from '../../src/application/pets/create-pet.ts';
import { samePet } from '../../src/application/ports/pet-archive.ts';
import { newPet, type Pet, petTexts, petWithId } from '../../src/domain/pet.ts';
import { idempotencyFor, sha256 } from '../support/archived-pets.ts';
import { variantsOfRex, rex } from '../support/pets.ts';

/**
 * Every form in which a pet is stored, compared or sent, with the function that makes the form from a pet.
 */
const FORMS: readonly (readonly [form: string, formOf: (pet: Pet) => unknown])[] = [
  ['the texts of all fields', petTexts],
  ['the fingerprint of the pet', (pet) => fingerprintOf(pet, sha256)],
  ['the row in SQLite', (pet) => toPetValues(pet, undefined)],
  ['the checksum of the row in SQLite', (pet) => petChecksum(pet.id, pet)],
  ['the document in MongoDB', (pet) => toPetDocument(pet, undefined)],
  ['the line in an NDJSON file', (pet) => petLines([pet])],
  ['the JSON of an answer', (pet) => JSON.stringify(petJson(pet))],
];

const REX = petWithId(1n, rex);

it('the pet `rex` has a value in each field, so that the tests notice a change of any field', () => {
  expect(Object.keys(rex)).toStrictEqual(variantsOfRex.map(([field]) => field));
  expect(Object.values(rex)).not.toContain(undefined);
});

describe.each(variantsOfRex.map(([field, pet]) => ({ field, pet: petWithId(1n, pet) })))(
  'the $field of a pet',
  ({ pet }) => {
    it.each(FORMS)('is part of %s', (_, formOf) => {
      expect(formOf(pet)).not.toStrictEqual(formOf(REX));
    });

    it('is compared when samePet() compares two pets', () => {
      expect(samePet(pet, pet)).toBe(true);
      expect([samePet(pet, REX), samePet(REX, pet)]).toStrictEqual([false, false]);
    });

    it('is read back from the document in MongoDB and from the line in a file', () => {
      expect(toPet(toPetDocument(pet, undefined))).toStrictEqual(pet);
      expect(parsePetLine(petLines([pet]).trim())).toStrictEqual(pet);
    });
  },
);

it('two pets are not the same when their ids or their idempotency keys differ', () => {
  const pet = { ...REX, idempotency: idempotencyFor('key', 'body') };
  const different = [
    REX,
    { ...pet, id: 2n },
    { ...pet, idempotency: idempotencyFor('another key', 'body') },
    { ...pet, idempotency: idempotencyFor('key', 'another body') },
  ];
  expect(different.flatMap((other) => [samePet(pet, other), samePet(other, pet)])).not.toContain(true);
  expect(samePet(pet, structuredClone(pet))).toBe(true);
});

// Storages, files and clients keep these forms, so a new build must write and read the same forms as older builds.
it('each form of a pet is the same in every build', () => {
  const pet = petWithId(7n, newPet({ name: 'Rex 🐈', categoryId: -7n, status: 'sold' }));
  expect(petTexts(pet)).toStrictEqual(['Rex 🐈', '-7', 'sold']);
  expect(fingerprintOf(pet, (text) => text)).toBe('["Rex 🐈","-7","sold"]');
  expect(toPetValues(pet, undefined)).toStrictEqual([
    7n,
    'Rex 🐈',
    -7n,
    'sold',
    1_557_270_368,
    null,
    null,
    null,
  ]);
  const line = '{"id":7,"name":"Rex 🐈","categoryId":-7,"status":"sold"}';
  expect([petLines([pet]), JSON.stringify(petJson(pet))]).toStrictEqual([`${line}\n`, line]);
});
