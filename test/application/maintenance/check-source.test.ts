import { describe, expect, it } from 'vitest';
import { DamagedApiKey } from '../../../src/application/ports/storage-errors.ts';
import { ArchiveSource } from '../../../src/application/maintenance/archive-source.ts';
import { CheckSource } from '../../../src/application/maintenance/check-source.ts';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import type { PetArchive, Progress } from '../../../src/application/ports/pet-archive.ts';
import type { ApiKey } from '../../../src/domain/api-key.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { archivedPets, archiveWith, storeWith } from '../../support/archived-pets.ts';

async function check(archive: PetArchive, keys: readonly (ApiKey | DamagedApiKey)[] = [aKey(1), aKey(2)]) {
  const seen: Progress[] = [];
  const source = new CheckSource(new ArchiveSource(archive), { list: async () => keys });
  await source.execute((progress) => seen.push(progress));
  return seen;
}

describe('CheckSource', () => {
  it('reads every pet', async () => {
    const total = 2500;
    expect(await check(await storeWith(archivedPets(total)))).toStrictEqual([
      { doing: 'checking', done: 1000, total },
      { doing: 'checking', done: 2000, total },
      { doing: 'checking', done: 2500, total },
    ]);
  });

  it('knows of more pets than were counted', async () => {
    const archive = archiveWith(await storeWith(archivedPets(5)), { count: async () => 4 });
    expect(await check(archive)).toStrictEqual([{ doing: 'checking', done: 5, total: 5 }]);
  });

  it('refuses a damaged API key', async () => {
    const damaged = new DamagedApiKey('f', 'scopes must be some');
    await expect(check(await storeWith([]), [aKey(1), damaged])).rejects.toBe(damaged);
  });

  it('refuses a damaged pet whose id is 0', async () => {
    const store = await storeWith(archivedPets(5));
    const damaged = new DamagedPet(0n, 'it is torn');
    const archive = archiveWith(store, {
      async read(after, limit) {
        if (after < damaged.id) throw damaged;
        return store.read(after, limit);
      },
    });
    await expect(check(archive)).rejects.toBe(damaged);
  });

  it('refuses ids that leave too few for new pets', async () => {
    const archive = archiveWith(await storeWith([]), { lastId: async () => MAX_PET_ID });
    await expect(check(archive)).rejects.toThrow('which would leave too few ids for new pets');
  });
});
