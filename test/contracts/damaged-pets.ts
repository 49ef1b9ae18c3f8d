import { expect, it, onTestFinished } from 'vitest';
import { DamagedPet } from '../../src/application/pets/errors.ts';
import type { ReadablePetArchive } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency, PetRepository } from '../../src/application/ports/pet-repository.ts';
import type { NewPet, Pet } from '../../src/domain/pet.ts';
import { idempotencyFor } from '../support/archived-pets.ts';
import { aPet } from '../support/pets.ts';

export type DamageableStore<Damage> = {
  readonly pets: PetRepository;
  readonly archive: ReadablePetArchive;
  /** Changes the record of a pet without any check of the storage. */
  damage(id: bigint, damage: Damage): Promise<void>;
  close(): Promise<void>;
};

/** How a record is damaged, and the problem that is then reported. */
export type Damages<Damage> = readonly (readonly [description: string, damage: Damage, problem: string])[];

/** The id of the damaged pet. */
const ID = 3n;

/**
 * The contract of repositories and archives for pets that were damaged after they were stored.
 *
 * @param open opens a new, empty store
 * @param damages changes to the record of a pet whose status is `sold`
 * @param keyDamages changes to the idempotency key in a record
 */
export function damagedPetsContract<Damage>(
  name: string,
  open: () => Promise<DamageableStore<Damage>>,
  damages: Damages<Damage>,
  keyDamages: Damages<Damage>,
): void {
  async function withDamage(damage: Damage) {
    const store = await open();
    onTestFinished(() => store.close());
    const pets: Pet[] = [];
    for (let n = 1; n <= 5; n++) {
      const inserted = await store.pets.insertOnce(petOf(n), idempotency(n));
      pets.push(inserted.pet);
    }
    await store.damage(ID, damage);
    return { ...store, stored: pets };
  }

  it.each(damages)(`only reads of the damaged pet fail: ${name}: %s`, async (_, damage, problem) => {
    const { pets, archive, stored } = await withDamage(damage);
    const expected = { kind: 'damaged-pet', id: ID, problem, message: messageOf(ID, problem) };

    expect(await failure(pets.findById(ID))).toMatchObject(expected);
    expect(await pets.findById(2n)).toStrictEqual(stored[1]);

    // A page ends before the damaged pet, and the next page begins after it.
    const pageError = await failure(pets.list({ limit: 10 }));
    expect(pageError).toMatchObject(expected);
    expect(pageError.before).toStrictEqual(stored.slice(0, 2));
    const firstPetError = await failure(pets.list({ limit: 1, after: 2n }));
    expect(firstPetError).toMatchObject(expected);
    expect(firstPetError.before).toStrictEqual([]);
    expect(await pets.list({ limit: 2 })).toStrictEqual(stored.slice(0, 2));
    expect(await pets.list({ limit: 10, after: ID })).toStrictEqual(stored.slice(3));

    // An archive does not skip the damaged pet.
    expect(await failure(archive.read(0n, 10))).toMatchObject(expected);
    expect(await archive.read(ID, 10)).toMatchObject(stored.slice(3));
    expect(await archive.count(5n)).toBe(5);
    expect(await archive.lastId()).toBe(5n);

    // A repeated create request of the damaged pet fails, and creates no second pet.
    const [, repeatError, next] = await Promise.all([
      pets.insertOnce(petOf(1), idempotency(1)),
      failure(pets.insertOnce(petOf(3), idempotency(3))),
      pets.insert(petOf(6)),
    ]);
    expect(repeatError).toMatchObject(expected);
    expect(await pets.list({ limit: 10, after: ID })).toStrictEqual([...stored.slice(3), next]);
  });

  it.each(keyDamages)(`lists ignore a damaged idempotency key: ${name}: %s`, async (_, damage, problem) => {
    const { pets, archive, stored } = await withDamage(damage);

    expect(await pets.list({ limit: 10 })).toStrictEqual(stored);
    expect(await failure(archive.read(0n, 10))).toMatchObject({ id: ID, problem });

    const outcome: unknown = await pets.insertOnce(petOf(3), idempotency(3)).catch((error: unknown) => error);
    // If the damage removed the key from the record, no request finds the record by this key.
    const expected = outcome instanceof DamagedPet ? { id: ID, problem } : { replayed: false };
    expect(outcome).toMatchObject(expected);
  });
}

function petOf(n: number): NewPet {
  return aPet({ name: `pet ${n}`, categoryId: BigInt(n), status: 'sold' });
}

function idempotency(n: number): Idempotency {
  return idempotencyFor(`request ${n}`);
}

function messageOf(id: bigint, problem: string): string {
  return `the pet with the id ${id} is damaged in the storage: ${problem}`;
}

async function failure(work: Promise<unknown>): Promise<DamagedPet> {
  const outcome: unknown = await work.catch((error: unknown) => error);
  if (!(outcome instanceof DamagedPet)) throw new Error('should have failed', { cause: outcome });
  return outcome;
}
