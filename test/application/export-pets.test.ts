import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { CountsDiffer } from '../../src/application/archive-errors.ts';
import { ExportPets } from '../../src/application/export-pets.ts';
import type { ArchivedPet } from '../../src/application/ports/pet-archive.ts';
import type { Progress } from '../../src/application/progress.ts';
import { ResumeExport } from '../../src/application/resume-export.ts';
import { newPet } from '../../src/domain/pet.ts';
import { anArchivedPet, archivedPets } from '../support/archived-pets.ts';

const SOME = archivedPets(2500);

async function holding(pets: readonly ArchivedPet[]): Promise<InMemoryPetRepository> {
  const store = new InMemoryPetRepository();
  await store.write(pets);
  return store;
}

async function exported(batches: AsyncIterable<readonly ArchivedPet[]>): Promise<ArchivedPet[]> {
  return (await Array.fromAsync(batches)).flat();
}

const ignore = () => {};

describe('ExportPets', () => {
  it('delivers every pet', async () => {
    const store = await holding(SOME);
    expect(await exported(new ExportPets(store).execute(0n, ignore))).toStrictEqual(SOME);
  });

  it('delivers nothing of nothing', async () => {
    expect(await exported(new ExportPets(new InMemoryPetRepository()).execute(0n, ignore))).toStrictEqual([]);
  });

  it.each([1, 999, 1000, 2499, 2500])(
    'goes on after %i pets, and tells how far it is of all',
    async (there) => {
      const store = await holding(SOME);
      const seen: Progress[] = [];
      const rest = new ExportPets(store).execute(SOME[there - 1]!.id, (progress) => seen.push(progress));
      expect(await exported(rest)).toStrictEqual(SOME.slice(there));
      expect(seen.at(-1) ?? { doing: 'exporting', done: 2500, total: 2500 }).toStrictEqual({
        doing: 'exporting',
        done: 2500,
        total: 2500,
      });
    },
  );

  it('leaves out what is added after the start, and is not confused by it', async () => {
    const store = await holding(SOME);
    const pets: ArchivedPet[] = [];
    for await (const batch of new ExportPets(store).execute(0n, ignore)) {
      pets.push(...batch);
      await store.insert(newPet({ name: 'late', categoryId: 7n }));
    }
    expect(pets).toStrictEqual(SOME);
  });

  it('notices a pet that came behind it', async () => {
    const store = await holding(SOME);
    const batches = new ExportPets(store).execute(0n, ignore);
    await batches.next();
    await store.write([anArchivedPet({ id: 4n })]);
    await expect(exported(batches)).rejects.toThrow(CountsDiffer);
  });
});

describe('ResumeExport', () => {
  const last = SOME[99]!;

  it('goes on with what the archive begins with', async () => {
    expect(await new ResumeExport(await holding(SOME)).execute({ count: 100, last })).toBe(true);
  });

  it.each([
    ['there are pets that were not delivered', { count: 99, last }],
    ['more was delivered than there is', { count: 101, last }],
    ['the last one is another', { count: 100, last: { ...last, name: 'Tom' } }],
    ['the last one is not there', { count: 100, last: { ...last, id: last.id + 1n } }],
  ])('begins anew when %s', async (_, delivered) => {
    expect(await new ResumeExport(await holding(SOME)).execute(delivered)).toBe(false);
  });
});
