import { expect, it } from 'vitest';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../src/application/pets/errors.ts';
import { MAX_PET_ID } from '../../src/domain/pet.ts';
import { idempotencyFor } from '../support/archived-pets.ts';
import { aPet, tamper } from '../support/pets.ts';
import { openStore, type TestedStorage } from './storages.ts';

const rex = aPet({ categoryId: 2n ** 63n - 1n, status: 'sold' });

/**
 * The tests that every `PetRepository.insertOnce` must pass. {@link petRepositoryModel} tests random calls.
 * `insertOnce` creates one pet per idempotency key. A repeated request has the same key and the same fingerprint, which
 * is a hash of the new pet.
 */
export function idempotencyContract(storage: TestedStorage): void {
  it('insertOnce rejects a used key whose fingerprint differs only in the last digit', async () => {
    const { pets } = await openStore(storage);
    const { key, fingerprint } = idempotencyFor('a');
    const withLastDigit = (digit: string) => ({ key, fingerprint: fingerprint.slice(0, -1) + digit });
    await pets.insertOnce(rex, withLastDigit('0'));

    await expect(pets.insertOnce(rex, withLastDigit('1'))).rejects.toStrictEqual(new IdempotencyKeyReused());
  });

  it('insertOnce returns the stored pet for a repeated request when no pet id is left', async () => {
    const { pets, archive } = await openStore(storage);
    await archive.reserve(MAX_PET_ID - 1n);
    const { pet } = await pets.insertOnce(rex, idempotencyFor('a'));

    await expect(pets.insertOnce(rex, idempotencyFor('b'))).rejects.toThrow(PetIdsExhausted);
    await expect(pets.insertOnce(rex, idempotencyFor('a', 'another body'))).rejects.toThrow(
      IdempotencyKeyReused,
    );
    expect(await pets.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
    expect(await pets.list({ limit: 10 })).toStrictEqual([{ id: MAX_PET_ID, ...rex }]);
  });

  it('insertOnce keeps the stored pet unchanged when the caller changes the arguments or the result of the call', async () => {
    const { pets } = await openStore(storage);
    const [pet, idempotency] = [structuredClone(rex), { ...idempotencyFor('a') }];
    const inserting = pets.insertOnce(pet, idempotency);
    tamper(pet);
    Object.assign(idempotency, idempotencyFor('b', 'another body'));

    const inserted = await inserting;

    const expected = { id: 1n, ...rex };
    expect(inserted).toStrictEqual({ pet: expected, replayed: false });
    for (const returned of [inserted, await pets.insertOnce(rex, idempotencyFor('a'))]) {
      tamper(returned);
      Reflect.set(returned, 'pet', aPet());
    }
    expect(await pets.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet: expected, replayed: true });
    expect(await pets.insertOnce(rex, idempotencyFor('b'))).toMatchObject({ replayed: false });
  });
}
