import { expect, it } from 'vitest';
import { IdempotencyKeyTaken, PetIdTaken } from '../../src/application/maintenance/errors.ts';
import { PetIdsExhausted } from '../../src/application/pets/errors.ts';
import { INT64_MAX, INT64_MIN, MAX_PET_ID, petWithId } from '../../src/domain/pet.ts';
import { anArchivedPet, idempotencyFor } from '../support/archived-pets.ts';
import { numbers } from '../support/numbers.ts';
import { aPet, others, tamper } from '../support/pets.ts';
import { opened, type TestedStorage } from './storages.ts';

/** In ascending order of id. */
const ODD = [
  anArchivedPet({ id: 1n, categoryId: INT64_MIN }),
  anArchivedPet({ id: 2n, categoryId: 2n ** 53n + 1n, status: 'pending' }),
  anArchivedPet({ id: 3n, categoryId: INT64_MAX, status: 'sold' }),
  anArchivedPet({ id: 4n, name: ' Ünïcödé 名前 🐕‍🦺 \u{10ffff}\ufeff e\u0301' }),
  anArchivedPet({ id: 5n, name: '$where.{"$gt":""}\'; DROP TABLE pets; --' }),
  anArchivedPet({ id: 6n, name: '\u{1f415}'.repeat(255) }),
  anArchivedPet({ id: 7n, idempotency: idempotencyFor('a') }),
  // Beyond int32.
  anArchivedPet({ id: 2n ** 32n + 1n }),
  anArchivedPet({ id: MAX_PET_ID }),
];

/** The contract of `PetArchive`, except what {@link petRepositoryModel} tries. */
export function petArchiveContract(storage: TestedStorage): void {
  it('returns each pet exactly as it was written, and so does the repository', async () => {
    const { archive, pets } = await opened(storage);
    await archive.write(ODD.toReversed());

    expect(await archive.read(0n, 10)).toStrictEqual(ODD);
    const plain = ODD.map((pet) => petWithId(pet.id, pet));
    expect(await pets.list({ limit: 10 })).toStrictEqual(plain);
    const available = plain.filter(({ status }) => status === 'available');
    expect(await pets.list({ status: 'available', limit: 10 })).toStrictEqual(available);
    for (const pet of plain) expect(await pets.findById(pet.id)).toStrictEqual(pet);
  });

  it('writes 1,000 pets in one call', async () => {
    const { archive } = await opened(storage);
    const all = numbers(1_000).map((n) => anArchivedPet({ id: BigInt(n + 1) }));
    await archive.write(all);
    await archive.write([]);

    expect(await archive.read(0n, 1_000)).toStrictEqual(all);
  });

  const there = anArchivedPet({ id: 5n, idempotency: idempotencyFor('a') });

  it('overwrites no existing pet, and assigns its idempotency key to no other pet', async () => {
    const { archive } = await opened(storage);
    await archive.write([there]);
    const different = others.map(([, pet]) => ({ ...there, ...pet }));
    const another = { ...there, idempotency: idempotencyFor('a', 'another body') };
    for (const other of [...different, anArchivedPet({ id: 5n }), another]) {
      const writing = archive.write([anArchivedPet({ id: 4n }), other]);
      await expect(writing).rejects.toStrictEqual(new PetIdTaken(5n));
    }
    await expect(archive.write([{ ...there, id: 6n }])).rejects.toStrictEqual(new IdempotencyKeyTaken(6n));
    expect(await archive.read(4n, 10)).toStrictEqual([there]);
  });

  it('can reserve the greatest possible id, which stays reserved', async () => {
    const { archive, pets } = await opened(storage);
    await archive.reserve(MAX_PET_ID);
    await archive.reserve(1n);
    expect(await archive.lastId()).toBe(MAX_PET_ID);
    await expect(pets.insert(aPet())).rejects.toThrow(PetIdsExhausted);
  });

  it('ignores later changes to its arguments and to its results', async () => {
    const { archive } = await opened(storage);
    const pet = anArchivedPet({ id: 5n, idempotency: idempotencyFor('a') });
    const list = [structuredClone(pet)];
    const writing = archive.write(list);
    tamper(list[0]!);
    list.length = 0;
    await writing;

    const [read] = await archive.read(0n, 10);
    expect(read).toStrictEqual(pet);
    tamper(read!);
    expect(await archive.read(0n, 10)).toStrictEqual([pet]);
  });
}
