import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../src/application/pets/errors.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { MAX_PET_ID, newPet } from '../../src/domain/pet.ts';
import { idempotencyFor } from '../support/archived-pets.ts';
import type { PetStore } from './pet-repository.ts';
import { describeSecondRepository, type Lacks, openSecond } from './second-repository.ts';

const rex = newPet({ name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'sold' });
const tom = newPet({ name: 'Tom', categoryId: 8n });

/**
 * The contract of `insertOnce` of {@link PetRepository}.
 *
 * @param open opens a new, empty store that has assigned all ids up to `lastId`, 0 when absent
 */
export function idempotencyContract(
  name: string,
  open: (lastId?: bigint) => Promise<PetStore>,
  lacks: Lacks = {},
): void {
  describe(`insertOnce contract: ${name}`, () => {
    let store: PetStore;
    let pets: PetRepository;

    beforeEach(async () => {
      store = await open();
      pets = store.pets;
    });
    afterEach(async () => store.close?.());

    it('rejects the same key with another fingerprint, and stores nothing', async () => {
      const { pet } = await pets.insertOnce(rex, idempotencyFor('a', 'body'));

      const refused = pets.insertOnce(rex, idempotencyFor('a', 'another body'));

      await expect(refused).rejects.toStrictEqual(new IdempotencyKeyReused());
      expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
      // The first pet is not forgotten.
      expect(await pets.insertOnce(rex, idempotencyFor('a', 'body'))).toStrictEqual({ pet, replayed: true });
    });

    it('rejects a fingerprint that differs in its last digit', async () => {
      const { key, fingerprint } = idempotencyFor('a');
      await pets.insertOnce(rex, { key, fingerprint: withLastDigit(fingerprint, '0') });

      await expect(
        pets.insertOnce(rex, { key, fingerprint: withLastDigit(fingerprint, '1') }),
      ).rejects.toThrow(IdempotencyKeyReused);
    });

    it.each([2, 50])('creates exactly one pet for %i concurrent calls', async (count) => {
      const outcomes = await Promise.all(
        Array.from({ length: count }, () => pets.insertOnce(rex, idempotencyFor('a'))),
      );

      const [pet, ...more] = await pets.list({ limit: 60 });
      expect(more).toStrictEqual([]);
      expect(pet).toStrictEqual({ id: pet?.id, ...rex });
      for (const outcome of outcomes) expect(outcome.pet).toStrictEqual(pet);
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
    });

    it('creates exactly one pet for concurrent calls with different fingerprints', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) => pets.insertOnce(rex, idempotencyFor('a', `body ${index}`))),
      );

      const made = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(made).toHaveLength(1);
      expect(await pets.list({ limit: 60 })).toStrictEqual([made[0]!.value.pet]);
      for (const { reason } of refused) expect(reason).toBeInstanceOf(IdempotencyKeyReused);
    });

    it('keeps keys apart in concurrent calls, two for each key', async () => {
      const keys = Array.from({ length: 25 }, (_, index) => idempotencyFor(`key ${index}`));

      const outcomes = await Promise.all(
        [...keys, ...keys].map((idempotency, index) =>
          pets.insertOnce(newPet({ name: 'Rex', categoryId: BigInt(index % 25) }), idempotency),
        ),
      );

      expect(await pets.list({ limit: 60 })).toHaveLength(25);
      for (const [index, { pet }] of outcomes.entries()) {
        expect(pet.categoryId).toBe(BigInt(index % 25));
        expect(pet).toStrictEqual(outcomes[index % 25]!.pet);
      }
      expect(outcomes.filter(({ replayed }) => replayed)).toHaveLength(25);
    });

    it('still replays when no id is left, but creates no pet', async () => {
      const last = await opened(await open(MAX_PET_ID - 1n));
      const { pet } = await last.insertOnce(rex, idempotencyFor('a'));
      expect(pet.id).toBe(MAX_PET_ID);

      await expect(last.insertOnce(rex, idempotencyFor('b'))).rejects.toThrow(PetIdsExhausted);
      await expect(last.insertOnce(rex, idempotencyFor('a', 'another body'))).rejects.toThrow(
        IdempotencyKeyReused,
      );
      expect(await last.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
      expect(await last.list({ limit: 10 })).toStrictEqual([pet]);
    });

    it('ignores changes to the passed objects during an insert', async () => {
      const pet = { ...rex };
      const idempotency = { ...idempotencyFor('a') };
      const inserting = pets.insertOnce(pet, idempotency);
      Object.assign(pet, { name: 'changed', status: 'pending' });
      Object.assign(idempotency, idempotencyFor('b', 'another body'));

      const inserted = await inserting;

      expect(inserted).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
      expect(await pets.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ ...inserted, replayed: true });
      expect((await pets.insertOnce(rex, idempotencyFor('b'))).replayed).toBe(false);
    });

    it('ignores changes to the objects that it returned', async () => {
      const inserted = await pets.insertOnce(rex, idempotencyFor('a'));
      const expected = { pet: { ...inserted.pet }, replayed: true };
      for (const given of [inserted, await pets.insertOnce(rex, idempotencyFor('a'))]) {
        Reflect.set(given.pet, 'name', 'changed');
        Reflect.set(given, 'pet', tom);
        Reflect.set(given, 'replayed', 'changed');
      }

      expect(await pets.insertOnce(rex, idempotencyFor('a'))).toStrictEqual(expected);
    });

    describeSecondRepository(lacks, () => {
      it('knows the keys of the first', async () => {
        const { pet } = await pets.insertOnce(rex, idempotencyFor('a'));

        const next = await openSecond(store);

        expect(await next.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
        await expect(next.insertOnce(rex, idempotencyFor('a', 'another body'))).rejects.toThrow(
          IdempotencyKeyReused,
        );
        expect(await next.list({ limit: 10 })).toStrictEqual([pet]);
      });

      it('creates no second pet when both are called concurrently', async () => {
        const next = await openSecond(store);

        const outcomes = await Promise.all(
          Array.from({ length: 50 }, (_, index) =>
            (index % 2 === 0 ? pets : next).insertOnce(rex, idempotencyFor('a')),
          ),
        );

        const [pet, ...more] = await pets.list({ limit: 60 });
        expect(more).toStrictEqual([]);
        for (const outcome of outcomes) expect(outcome.pet).toStrictEqual(pet);
        expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
      });
    });
  });
}

function withLastDigit(hex: string, digit: string): string {
  return hex.slice(0, -1) + digit;
}

async function opened({ pets, close }: PetStore): Promise<PetRepository> {
  onTestFinished(async () => close?.());
  return pets;
}
