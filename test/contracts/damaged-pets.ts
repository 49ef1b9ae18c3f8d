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
  /** Changes the stored record of a pet directly, so that the adapter cannot check the change. */
  damage(id: bigint, damage: Damage): Promise<void>;
  close(): Promise<void>;
};

/** Each entry: the change in words, the change to the record, and the problem that the error then describes. */
export type Damages<Damage> = readonly (readonly [description: string, damage: Damage, problem: string])[];

/** The id of the damaged pet. */
const ID = 3n;

/**
 * The tests that repositories and archives must pass when a stored pet was damaged later.
 *
 * @param open opens a new, empty store
 * @param damages changes to the record of a pet whose status is `sold`
 * @param keyDamages changes only to the idempotency key in the record of a pet
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

  it.each(damages)(`only calls that read the damaged pet fail: ${name}: %s`, async (_, damage, problem) => {
    const { pets, archive, stored } = await withDamage(damage);
    const expected = { kind: 'damaged-pet', id: ID, problem, message: messageOf(ID, problem) };

    expect(await failure(pets.findById(ID))).toMatchObject(expected);
    expect(await pets.findById(2n)).toStrictEqual(stored[1]);

    // The error of a page has the pets before the damaged pet. A page that begins after the damaged pet succeeds.
    const pageError = await failure(pets.list({ limit: 10 }));
    expect(pageError).toMatchObject(expected);
    expect(pageError.before).toStrictEqual(stored.slice(0, 2));
    const firstPetError = await failure(pets.list({ limit: 1, after: 2n }));
    expect(firstPetError).toMatchObject(expected);
    expect(firstPetError.before).toStrictEqual([]);
    expect(await pets.list({ limit: 2 })).toStrictEqual(stored.slice(0, 2));
    expect(await pets.list({ limit: 10, after: ID })).toStrictEqual(stored.slice(3));

    // An archive fails at the damaged pet, because a backup must not miss a pet.
    expect(await failure(archive.read(0n, 10))).toMatchObject(expected);
    expect(await archive.read(ID, 10)).toMatchObject(stored.slice(3));
    expect(await archive.count(5n)).toBe(5);
    expect(await archive.lastId()).toBe(5n);

    // The request that created the damaged pet is repeated. This call fails, and creates no second pet.
    const [, repeatError, next] = await Promise.all([
      pets.insertOnce(petOf(1), idempotency(1)),
      failure(pets.insertOnce(petOf(3), idempotency(3))),
      pets.insert(petOf(6)),
    ]);
    expect(repeatError).toMatchObject(expected);
    expect(await pets.list({ limit: 10, after: ID })).toStrictEqual([...stored.slice(3), next]);
  });

  it.each(keyDamages)(`list() returns a pet with a damaged key: ${name}: %s`, async (_, damage, problem) => {
    const { pets, archive, stored } = await withDamage(damage);

    expect(await pets.list({ limit: 10 })).toStrictEqual(stored);
    expect(await failure(archive.read(0n, 10))).toMatchObject({ id: ID, problem });

    const outcome: unknown = await pets.insertOnce(petOf(3), idempotency(3)).catch((error: unknown) => error);
    // A record without its key is not found by the key. The repeated request then creates a pet.
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
