import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { IdempotencyKeyReused, PetIdsExhausted } from '../../src/application/pets/errors.ts';
import type { Idempotency, Inserted, PetRepository } from '../../src/application/ports/pet-repository.ts';
import { MAX_PET_ID, newPet } from '../../src/domain/pet.ts';
import type { Lacks, PetStore } from './pet-repository.ts';

const rex = newPet({ name: 'Rex', categoryId: 2n ** 63n - 1n, status: 'sold' });
const tom = newPet({ name: 'Tom', categoryId: 8n });

/**
 * What `insertOnce` of every {@link PetRepository} must do.
 *
 * @param open opens an empty store of its own for each test; `lastId` is the last id that it has given, 0 when absent
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

    it('stores the pet as insert does', async () => {
      const inserted = await pets.insertOnce(rex, asking('a'));

      const expected = { id: 1n, ...rex };
      expect(inserted).toStrictEqual({ pet: expected, replayed: false });
      expect(await pets.findById(1n)).toStrictEqual(expected);
      expect(await pets.list({ limit: 10 })).toStrictEqual([expected]);
      expect(await pets.list({ limit: 10, status: 'sold' })).toStrictEqual([expected]);
      expect(await pets.list({ limit: 10, status: 'available' })).toStrictEqual([]);
    });

    it('gives the pet of the first time for the same key and fingerprint, however often', async () => {
      const { pet } = await pets.insertOnce(rex, asking('a'));

      for (let again = 0; again < 3; again++) {
        expect(await pets.insertOnce(rex, asking('a'))).toStrictEqual({ pet, replayed: true });
      }
      expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
    });

    it('lets the fingerprint decide what is the same', async () => {
      const { pet } = await pets.insertOnce(rex, asking('a', 'body'));

      expect(await pets.insertOnce(tom, asking('a', 'body'))).toStrictEqual({ pet, replayed: true });
      expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
    });

    it('refuses the same key with another fingerprint and stores nothing', async () => {
      const { pet } = await pets.insertOnce(rex, asking('a', 'body'));

      const refused = await failure(pets.insertOnce(rex, asking('a', 'another body')));

      expect(refused).toBeInstanceOf(IdempotencyKeyReused);
      expect(refused).toMatchObject({ kind: 'idempotency-key-reused', key: asking('a').key });
      expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
      // Nor does it forget the first.
      expect(await pets.insertOnce(rex, asking('a', 'body'))).toStrictEqual({ pet, replayed: true });
    });

    it('refuses a fingerprint that differs in its last digit', async () => {
      const { key, fingerprint } = asking('a');
      await pets.insertOnce(rex, { key, fingerprint: withLastDigit(fingerprint, '0') });

      await expect(
        pets.insertOnce(rex, { key, fingerprint: withLastDigit(fingerprint, '1') }),
      ).rejects.toThrow(IdempotencyKeyReused);
    });

    it('makes a pet for each key, though the fingerprint is the same', async () => {
      const keys = ['a', 'b', 'c'].map((text) => asking(text, 'body'));
      const { key, fingerprint } = keys[0]!;
      keys.push({ key: withLastDigit(key, key.endsWith('0') ? '1' : '0'), fingerprint });

      const inserted: Inserted[] = [];
      for (const idempotency of keys) inserted.push(await pets.insertOnce(rex, idempotency));

      expect(inserted.map(({ replayed }) => replayed)).toStrictEqual([false, false, false, false]);
      expect(await pets.list({ limit: 10 })).toStrictEqual(inserted.map(({ pet }) => pet));
      for (const [index, idempotency] of keys.entries()) {
        expect(await pets.insertOnce(rex, idempotency)).toStrictEqual({
          pet: inserted[index]!.pet,
          replayed: true,
        });
      }
    });

    it.each([2, 50])('makes exactly one pet when %i ask at once', async (count) => {
      const outcomes = await Promise.all(
        Array.from({ length: count }, () => pets.insertOnce(rex, asking('a'))),
      );

      const [pet, ...more] = await pets.list({ limit: 60 });
      expect(more).toStrictEqual([]);
      expect(pet).toStrictEqual({ id: pet?.id, ...rex });
      for (const outcome of outcomes) expect(outcome.pet).toStrictEqual(pet);
      expect(outcomes.filter(({ replayed }) => !replayed)).toHaveLength(1);
    });

    it('makes exactly one pet when many ask at once for different things', async () => {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, index) => pets.insertOnce(rex, asking('a', `body ${index}`))),
      );

      const made = outcomes.filter((outcome) => outcome.status === 'fulfilled');
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(made).toHaveLength(1);
      expect(await pets.list({ limit: 60 })).toStrictEqual([made[0]!.value.pet]);
      for (const { reason } of refused) expect(reason).toBeInstanceOf(IdempotencyKeyReused);
    });

    it('keeps keys apart when many ask at once, twice each', async () => {
      const keys = Array.from({ length: 25 }, (_, index) => asking(`key ${index}`));

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

    it('leaves plain inserts alone', async () => {
      const before = await pets.insert(rex);
      const { pet } = await pets.insertOnce(rex, asking('a'));
      const after = await Promise.all([pets.insert(rex), pets.insert(rex)]);

      const ids = [before, pet, ...after].map(({ id }) => id);
      expect(new Set(ids).size).toBe(4);
      const listed = (await pets.list({ limit: 10 })).map(({ id }) => id);
      expect(new Set(listed)).toStrictEqual(new Set(ids));
      expect(listed).toHaveLength(4);
      expect(await pets.insertOnce(rex, asking('a'))).toStrictEqual({ pet, replayed: true });
    });

    it('remembers, but makes no more, when the ids have run out', async () => {
      const last = await opened(await open(MAX_PET_ID - 1n));
      const { pet } = await last.insertOnce(rex, asking('a'));
      expect(pet.id).toBe(MAX_PET_ID);

      await expect(last.insertOnce(rex, asking('b'))).rejects.toThrow(PetIdsExhausted);
      await expect(last.insertOnce(rex, asking('a', 'another body'))).rejects.toThrow(IdempotencyKeyReused);
      expect(await last.insertOnce(rex, asking('a'))).toStrictEqual({ pet, replayed: true });
      expect(await last.list({ limit: 10 })).toStrictEqual([pet]);
    });

    it('keeps what was passed, though the caller changes it while the insert is under way', async () => {
      const pet = { ...rex };
      const idempotency = { ...asking('a') };
      const inserting = pets.insertOnce(pet, idempotency);
      Object.assign(pet, { name: 'changed', status: 'pending' });
      Object.assign(idempotency, asking('b', 'another body'));

      const inserted = await inserting;

      expect(inserted).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
      expect(await pets.insertOnce(rex, asking('a'))).toStrictEqual({ ...inserted, replayed: true });
      expect((await pets.insertOnce(rex, asking('b'))).replayed).toBe(false);
    });

    it('keeps what it has, though the caller changes what was returned', async () => {
      const inserted = await pets.insertOnce(rex, asking('a'));
      const expected = { pet: { ...inserted.pet }, replayed: true };
      for (const given of [inserted, await pets.insertOnce(rex, asking('a'))]) {
        Reflect.set(given.pet, 'name', 'changed');
        Reflect.set(given, 'pet', tom);
        Reflect.set(given, 'replayed', 'changed');
      }

      expect(await pets.insertOnce(rex, asking('a'))).toStrictEqual(expected);
    });

    const noOther = lacks.another === undefined ? '' : ` (left out: ${lacks.another})`;
    describe.skipIf(lacks.another !== undefined)(`a second repository on the same store${noOther}`, () => {
      it('knows the keys of the first', async () => {
        const { pet } = await pets.insertOnce(rex, asking('a'));

        const next = await another(store);

        expect(await next.insertOnce(rex, asking('a'))).toStrictEqual({ pet, replayed: true });
        await expect(next.insertOnce(rex, asking('a', 'another body'))).rejects.toThrow(IdempotencyKeyReused);
        expect(await next.list({ limit: 10 })).toStrictEqual([pet]);
      });

      it('makes no second pet when both are asked at once', async () => {
        const next = await another(store);

        const outcomes = await Promise.all(
          Array.from({ length: 50 }, (_, index) =>
            (index % 2 === 0 ? pets : next).insertOnce(rex, asking('a')),
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

/** The hashes of a key and of what is asked for with it. */
export function asking(key: string, body = 'body'): Idempotency {
  return { key: sha256(key), fingerprint: sha256(body) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function withLastDigit(hex: string, digit: string): string {
  return hex.slice(0, -1) + digit;
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function opened({ pets, close }: PetStore): Promise<PetRepository> {
  onTestFinished(async () => close?.());
  return pets;
}

async function another(store: PetStore): Promise<PetRepository> {
  if (store.another === undefined) throw new Error('the store must open a second repository');
  return store.another();
}
