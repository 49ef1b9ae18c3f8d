import { describe, expect, it, onTestFinished } from 'vitest';
import { DamagedPet } from '../../src/application/pets/errors.ts';
import type { ReadablePetArchive } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency, PetRepository } from '../../src/application/ports/pet-repository.ts';
import { type NewPet, newPet, type Pet } from '../../src/domain/pet.ts';
import { asking } from './idempotency.ts';

export type DamageableStore<Damage> = {
  readonly pets: PetRepository;
  readonly archive: ReadablePetArchive;
  /** Changes what is held of the pet, past all that the storage checks when it is written. */
  damage(id: bigint, damage: Damage): Promise<void>;
  close(): Promise<void>;
};

/** What is done to a record, and what then is said to be wrong with it. */
export type Damages<Damage> = readonly (readonly [what: string, damage: Damage, problem: string])[];

const ID = 3n;

/**
 * What every {@link PetRepository} and archive must do with a pet that was damaged after it was stored. An adapter
 * whose pets cannot be damaged is not held to it.
 *
 * @param open makes an empty store
 * @param damages of a pet that is sold
 * @param ofKeys damages of an idempotency key
 */
export function damagedPetsContract<Damage>(
  name: string,
  open: () => Promise<DamageableStore<Damage>>,
  damages: Damages<Damage>,
  ofKeys: Damages<Damage>,
): void {
  async function withDamage(damage: Damage) {
    const store = await open();
    onTestFinished(() => store.close());
    const pets: Pet[] = [];
    for (let n = 1; n <= 5; n++) {
      const inserted = await store.pets.insertOnce(aPet(n), idempotency(n));
      pets.push(inserted.pet);
    }
    await store.damage(ID, damage);
    return { ...store, stored: pets };
  }

  describe.each(damages)(`a damaged pet: ${name}: %s`, (_, damage, problem) => {
    const expected = { kind: 'damaged-pet', id: ID, problem, message: messageOf(ID, problem) };

    it('is not given by its id', async () => {
      const { pets, stored } = await withDamage(damage);

      expect(await failure(pets.findById(ID))).toMatchObject(expected);
      expect(await pets.findById(2n)).toStrictEqual(stored[1]);
    });

    it('ends a page, and the pets after it can be listed', async () => {
      const { pets, stored } = await withDamage(damage);

      const error = await failure(pets.list({ limit: 10 }));
      expect(error).toMatchObject(expected);
      expect(error.before).toStrictEqual(stored.slice(0, 2));
      const begins = await failure(pets.list({ limit: 1, after: 2n }));
      expect(begins).toMatchObject(expected);
      expect(begins.before).toStrictEqual([]);
      expect(await pets.list({ limit: 2 })).toStrictEqual(stored.slice(0, 2));
      expect(await pets.list({ limit: 10, after: ID })).toStrictEqual(stored.slice(3));
    });

    it('is passed over by no archive', async () => {
      const { archive, stored } = await withDamage(damage);

      expect(await failure(archive.read(0n, 10))).toMatchObject(expected);
      expect(await archive.read(ID, 10)).toMatchObject(stored.slice(3));
      expect(await archive.count(5n)).toBe(5);
      expect(await archive.lastId()).toBe(5n);
    });

    it('is not replayed, and no second one is made', async () => {
      const { pets, stored } = await withDamage(damage);

      const [, again, next] = await Promise.all([
        pets.insertOnce(aPet(1), idempotency(1)),
        failure(pets.insertOnce(aPet(3), idempotency(3))),
        pets.insert(aPet(6)),
      ]);

      expect(again).toMatchObject(expected);
      expect(await pets.list({ limit: 10, after: ID })).toStrictEqual([...stored.slice(3), next]);
    });
  });

  describe.each(ofKeys)(`a pet with a damaged idempotency key: ${name}: %s`, (_, damage, problem) => {
    it('is given, but by no archive', async () => {
      const { pets, archive, stored } = await withDamage(damage);

      expect(await pets.list({ limit: 10 })).toStrictEqual(stored);
      expect(await failure(archive.read(0n, 10))).toMatchObject({ id: ID, problem });
    });

    it('is not taken for the answer to a retry', async () => {
      const { pets } = await withDamage(damage);

      const outcome: unknown = await pets
        .insertOnce(aPet(3), idempotency(3))
        .catch((error: unknown) => error);

      // What has lost its key cannot be known by it.
      const expected = outcome instanceof DamagedPet ? { id: ID, problem } : { replayed: false };
      expect(outcome).toMatchObject(expected);
    });
  });
}

/** Says of an adapter that it is not held to {@link damagedPetsContract}. */
export function cannotBeDamaged(name: string, why: string): void {
  describe.skipIf(true)(`a damaged pet: ${name} (left out: ${why})`, () => {
    it('is not given', () => expect.unreachable());
  });
}

function aPet(n: number): NewPet {
  return newPet({ name: `pet ${n}`, categoryId: BigInt(n), status: 'sold' });
}

function idempotency(n: number): Idempotency {
  return asking(`request ${n}`);
}

function messageOf(id: bigint, problem: string): string {
  return `the pet with the id ${id} is damaged in the storage: ${problem}`;
}

async function failure(work: Promise<unknown>): Promise<DamagedPet> {
  const outcome: unknown = await work.catch((error: unknown) => error);
  if (!(outcome instanceof DamagedPet)) throw new Error('should have failed', { cause: outcome });
  return outcome;
}
