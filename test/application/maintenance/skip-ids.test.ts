import { expect, it } from 'vitest';
import { SkipIds, TooFewPetIds } from '../../../src/application/maintenance/skip-ids.ts';
import { MAX_PET_ID, SKIPPED_PET_IDS } from '../../../src/domain/pet.ts';
import { petsAfter } from '../../support/archived-pets.ts';
import { aPet } from '../../support/pets.ts';

it('new pets get greater ids than the last one + 10^12', async () => {
  const pets = await petsAfter(7n);
  expect(await new SkipIds(pets).execute()).toBe(7n + SKIPPED_PET_IDS);
  expect((await pets.insert(aPet())).id).toBe(7n + SKIPPED_PET_IDS + 1n);
});

it('the last ids can be skipped, and fewer are not', async () => {
  const last = MAX_PET_ID - SKIPPED_PET_IDS;
  const pets = await petsAfter(last);
  expect(await new SkipIds(pets).execute()).toBe(MAX_PET_ID);

  const few = await petsAfter(last + 1n);
  await expect(new SkipIds(few).execute()).rejects.toThrow(new TooFewPetIds());
  expect(await few.lastId()).toBe(last + 1n);
});
