import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fingerprintOf } from '../../../src/application/pets/create-pet.ts';
import type { NewPet } from '../../../src/domain/pet.ts';
import { aNewPet } from '../../properties/arbitraries.ts';
import { holds } from '../../properties/holds.ts';
import { sha256 } from '../../support/archived-pets.ts';

it('the fingerprint depends on the fields of the pet and nothing else', async () => {
  const similar = fc.tuple(aNewPet, fc.constantFrom('name', 'categoryId', 'status', 'id')).map(
    ([pet, field]) =>
      (one: NewPet): NewPet => ({ ...one, [field]: { ...pet, id: 1n }[field] }),
  );
  await holds(
    fc.property(aNewPet, similar, (one, change) => {
      const other = change(one);
      const isSame =
        one.name === other.name && one.categoryId === other.categoryId && one.status === other.status;
      expect(fingerprintOf(one, sha256) === fingerprintOf(other, sha256)).toBe(isSame);
    }),
    200,
  );
});
