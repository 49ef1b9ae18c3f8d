import { expect, it } from 'vitest';
import { IdempotencyKeyTaken, PetIdTaken } from '../../src/application/maintenance/errors.ts';
import { PetIdsExhausted } from '../../src/application/pets/errors.ts';
import { INT64_MAX, INT64_MIN, MAX_PET_ID, petWithId } from '../../src/domain/pet.ts';
import { anArchivedPet, idempotencyFor } from '../support/archived-pets.ts';
import { numbers } from '../support/numbers.ts';
import { aPet, variantsOfRex, tamper } from '../support/pets.ts';
import { openStore, type TestedStorage } from './storages.ts';

/** Pets with values that a storage could change by mistake, in ascending order of id. */
const ODD_PETS = [
  anArchivedPet({ id: 1n, categoryId: INT64_MIN }),
  anArchivedPet({ id: 2n, categoryId: 2n ** 53n + 1n, status: 'pending' }),
  anArchivedPet({ id: 3n, categoryId: INT64_MAX, status: 'sold' }),
  anArchivedPet({ id: 4n, name: ' Ünïcödé 名前 🐕‍🦺 \u{10ffff}\ufeff e\u0301' }),
  anArchivedPet({ id: 5n, name: '$where.{"$gt":""}\'; DROP TABLE pets; --' }),
  anArchivedPet({ id: 6n, name: '\u{1f415}'.repeat(255) }),
  anArchivedPet({ id: 7n, idempotency: idempotencyFor('a') }),
  // An id that an int32 cannot hold.
  anArchivedPet({ id: 2n ** 32n + 1n }),
  anArchivedPet({ id: MAX_PET_ID }),
];

/**
 * The tests that every `PetArchive` must pass: backup and restore read and write pets with their ids through this port.
 * {@link petRepositoryModel} tests random sequences of calls.
 */
export function petArchiveContract(storage: TestedStorage): void {
  it('returns each pet exactly as it was written, from the archive and from the repository', async () => {
    const { archive, pets } = await openStore(storage);
    await archive.write(ODD_PETS.toReversed());

    expect(await archive.read(0n, 10)).toStrictEqual(ODD_PETS);
    const petsWithoutKeys = ODD_PETS.map((pet) => petWithId(pet.id, pet));
    expect(await pets.list({ limit: 10 })).toStrictEqual(petsWithoutKeys);
    const available = petsWithoutKeys.filter(({ status }) => status === 'available');
    expect(await pets.list({ status: 'available', limit: 10 })).toStrictEqual(available);
    for (const pet of petsWithoutKeys) expect(await pets.findById(pet.id)).toStrictEqual(pet);
  });

  it('writes 1,000 pets in one call', async () => {
    const { archive } = await openStore(storage);
    const pets = numbers(1_000).map((n) => anArchivedPet({ id: BigInt(n + 1) }));
    await archive.write(pets);
    await archive.write([]);

    expect(await archive.read(0n, 1_000)).toStrictEqual(pets);
  });

  const savedPet = anArchivedPet({ id: 5n, idempotency: idempotencyFor('a') });

  it('rejects a pet when a different stored pet has the same id or the same idempotency key', async () => {
    const { archive } = await openStore(storage);
    await archive.write([savedPet]);
    const different = variantsOfRex.map(([, pet]) => ({ ...savedPet, ...pet }));
    const withOtherFingerprint = { ...savedPet, idempotency: idempotencyFor('a', 'another body') };
    for (const other of [...different, anArchivedPet({ id: 5n }), withOtherFingerprint]) {
      const writing = archive.write([anArchivedPet({ id: 4n }), other]);
      await expect(writing).rejects.toStrictEqual(new PetIdTaken(5n));
    }
    await expect(archive.write([{ ...savedPet, id: 6n }])).rejects.toStrictEqual(new IdempotencyKeyTaken(6n));
    expect(await archive.read(4n, 10)).toStrictEqual([savedPet]);
  });

  it('reserves the greatest possible id, and keeps it reserved when a lesser id is reserved later', async () => {
    const { archive, pets } = await openStore(storage);
    await archive.reserve(MAX_PET_ID);
    await archive.reserve(1n);
    expect(await archive.lastId()).toBe(MAX_PET_ID);
    await expect(pets.insert(aPet())).rejects.toThrow(PetIdsExhausted);
  });

  it('keeps a stored pet unchanged when the caller changes the arguments or the results of its calls', async () => {
    const { archive } = await openStore(storage);
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
