import { describe, expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { CountsDiffer } from '../../../src/application/moving/errors.ts';
import { ExportPets } from '../../../src/application/moving/export-pets.ts';
import type { ArchivedPet } from '../../../src/application/ports/pet-archive.ts';
import type { Progress } from '../../../src/application/ports/progress.ts';
import { ResumeExport } from '../../../src/application/moving/resume-export.ts';
import { newPet } from '../../../src/domain/pet.ts';
import {
  anArchivedPet,
  archivedPets,
  archiveWith,
  inOrderOfId,
  storeWith,
} from '../../support/archived-pets.ts';

const SOME = archivedPets(2500);
const LAST = SOME.at(-1)!.id;

async function exported(batches: AsyncIterable<readonly ArchivedPet[]>): Promise<ArchivedPet[]> {
  return (await Array.fromAsync(batches)).flat();
}

const ignore = () => {};

describe('ExportPets', () => {
  it('yields every pet', async () => {
    const store = await storeWith(SOME);
    expect(await exported(new ExportPets(store).execute(0n, ignore))).toStrictEqual(SOME);
  });

  it('yields nothing from an empty archive', async () => {
    expect(await exported(new ExportPets(new InMemoryPetRepository()).execute(0n, ignore))).toStrictEqual([]);
  });

  it.each([1, 999, 1000, 2499, 2500])(
    'continues after %i pets and reports its overall progress',
    async (there) => {
      const store = await storeWith(SOME);
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

  it('leaves out pets that are added after the start', async () => {
    const store = await storeWith(SOME);
    const pets: ArchivedPet[] = [];
    for await (const batch of new ExportPets(store).execute(0n, ignore)) {
      pets.push(...batch);
      await store.insert(newPet({ name: 'late', categoryId: 7n }));
    }
    expect(pets).toStrictEqual(SOME);
  });

  it('tolerates pets that a service stores late, behind the reader and ahead of it', async () => {
    const store = await storeWith(SOME);
    const seen: Progress[] = [];
    const batches = new ExportPets(store).execute(0n, (progress) => seen.push(progress));
    const first = await batches.next();
    const before = anArchivedPet({ id: LAST - 1n });
    await store.write([anArchivedPet({ id: 4n }), before, anArchivedPet({ id: LAST + 1n })]);
    const pets = [...(first.value ?? []), ...(await exported(batches))];
    expect(pets).toStrictEqual(inOrderOfId([...SOME, before]));
    expect(seen.at(-1)).toStrictEqual({ doing: 'exporting', done: 2501, total: 2501 });
  });

  it('tolerates a pet that is stored late among the delivered ones', async () => {
    const store = await storeWith(SOME);
    const late = archiveWith(store, {
      async count(upTo) {
        const count = await store.count(upTo);
        if (upTo === LAST) await store.write([anArchivedPet({ id: 4n })]);
        return count;
      },
    });
    const rest = new ExportPets(late).execute(SOME[999]!.id, ignore);
    expect(await exported(rest)).toStrictEqual(SOME.slice(1000));
  });

  it.each([
    { what: 'cannot be read', counts: [2501, 0, 2501] },
    { what: 'has disappeared at the end', counts: [2500, 0, 2499] },
  ])('fails when a pet $what', async ({ counts }) => {
    const store = await storeWith(SOME);
    const less = archiveWith(store, { count: async () => counts.shift() ?? 0 });
    await expect(exported(new ExportPets(less).execute(0n, ignore))).rejects.toThrow(CountsDiffer);
  });
});

describe('ResumeExport', () => {
  const last = SOME[99]!;

  it('continues when the archive starts with the delivered pets', async () => {
    expect(await new ResumeExport(await storeWith(SOME)).execute({ count: 100, last })).toBe(true);
  });

  it.each([
    ['the archive has more pets than were delivered', { count: 99, last }],
    ['more pets were delivered than the archive has', { count: 101, last }],
    ['the last pet differs', { count: 100, last: { ...last, name: 'Tom' } }],
    ['the archive ends before the last pet', { count: 2500, last: { ...last, id: LAST + 1n } }],
    ['the last pet is missing', { count: 100, last: { ...last, id: last.id + 1n } }],
  ])('does not continue when %s', async (_, delivered) => {
    expect(await new ResumeExport(await storeWith(SOME)).execute(delivered)).toBe(false);
  });

  it('does not continue when a pet has since been stored under a smaller id', async () => {
    const store = await storeWith(SOME);
    await store.write([anArchivedPet({ id: 4n })]);
    expect(await new ResumeExport(store).execute({ count: 100, last })).toBe(false);
  });

  it('continues when pets have since been stored under greater ids', async () => {
    const store = await storeWith(SOME);
    await store.write([anArchivedPet({ id: LAST - 1n }), anArchivedPet({ id: LAST + 1n })]);
    expect(await new ResumeExport(store).execute({ count: 100, last })).toBe(true);
  });
});
