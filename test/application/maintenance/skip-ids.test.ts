import { expect, it } from 'vitest';
import { SkipIds, TooFewPetIds } from '../../../src/application/maintenance/skip-ids.ts';
import { MAX_PET_ID, SKIPPED_PET_IDS } from '../../../src/domain/pet.ts';
import { archiveWith, emptyRepositoryAfter } from '../../support/archived-pets.ts';

it('SkipIds skips the last trillion ids, and fails when fewer ids are left', async () => {
  const last = MAX_PET_ID - SKIPPED_PET_IDS;
  const pets = await emptyRepositoryAfter(last);
  expect(await new SkipIds(pets).execute()).toBe(MAX_PET_ID);

  const few = await emptyRepositoryAfter(last + 1n);
  await expect(new SkipIds(few).execute()).rejects.toThrow(new TooFewPetIds());
  expect(await few.lastId()).toBe(last + 1n);
});

it('SkipIds fails when the storage cannot reserve the ids', async () => {
  const away = new Error('away');
  const pets = archiveWith(await emptyRepositoryAfter(7n), { reserve: () => Promise.reject(away) });
  await expect(new SkipIds(pets).execute()).rejects.toBe(away);
});
