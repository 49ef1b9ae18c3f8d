import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { CountsDiffer } from '../../../src/application/moving/errors.ts';
import { ExportPets } from '../../../src/application/moving/export-pets.ts';
import type { ArchivedPet, ReadablePetArchive } from '../../../src/application/ports/pet-archive.ts';
import type { Progress } from '../../../src/application/ports/progress.ts';
import { ResumeExport } from '../../../src/application/moving/resume-export.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { anArchivedPet, archivedPets } from '../../support/archived-pets.ts';

const SOME = archivedPets(2500);
const LAST = SOME.at(-1)!.id;

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

  it('takes no harm from pets that a service stores late, behind the reader and before it', async () => {
    const store = await holding(SOME);
    const seen: Progress[] = [];
    const batches = new ExportPets(store).execute(0n, (progress) => seen.push(progress));
    const first = await batches.next();
    const before = anArchivedPet({ id: LAST - 1n });
    await store.write([anArchivedPet({ id: 4n }), before, anArchivedPet({ id: LAST + 1n })]);
    const pets = [...(first.value ?? []), ...(await exported(batches))];
    expect(pets).toStrictEqual([...SOME, before].toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    expect(seen.at(-1)).toStrictEqual({ doing: 'exporting', done: 2501, total: 2501 });
  });

  it('goes on, although a pet is stored late among those that were delivered', async () => {
    const store = await holding(SOME);
    const late: ReadablePetArchive = {
      read: (after, limit) => store.read(after, limit),
      greatestId: () => store.greatestId(),
      lastId: () => store.lastId(),
      // After the survey.
      async count(upTo) {
        const count = await store.count(upTo);
        if (upTo === LAST) await store.write([anArchivedPet({ id: 4n })]);
        return count;
      },
    };
    const rest = new ExportPets(late).execute(SOME[999]!.id, ignore);
    expect(await exported(rest)).toStrictEqual(SOME.slice(1000));
  });

  it.each([
    { what: 'could not be read', counts: [2501, 0, 2501] },
    { what: 'has gone at the end', counts: [2500, 0, 2499] },
  ])('notices a pet that $what', async ({ counts }) => {
    const store = await holding(SOME);
    const less: ReadablePetArchive = {
      read: (after, limit) => store.read(after, limit),
      greatestId: () => store.greatestId(),
      lastId: () => store.lastId(),
      count: async () => counts.shift() ?? 0,
    };
    await expect(exported(new ExportPets(less).execute(0n, ignore))).rejects.toThrow(CountsDiffer);
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
  ])('does not go on when %s', async (_, delivered) => {
    expect(await new ResumeExport(await holding(SOME)).execute(delivered)).toBe(false);
  });

  it('does not go on when a pet has come since then under an id that was passed over', async () => {
    const store = await holding(SOME);
    await store.write([anArchivedPet({ id: 4n })]);
    expect(await new ResumeExport(store).execute({ count: 100, last })).toBe(false);
  });

  it('is not disturbed by pets that have come behind the last one', async () => {
    const store = await holding(SOME);
    await store.write([anArchivedPet({ id: LAST - 1n }), anArchivedPet({ id: LAST + 1n })]);
    expect(await new ResumeExport(store).execute({ count: 100, last })).toBe(true);
  });
});
