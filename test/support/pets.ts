import { EventEmitter } from 'node:events';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { STORAGE_OPERATIONS } from '../../src/application/ports/storage-operations.ts';
import { type NewPet, newPet, type Pet, type PetDraft } from '../../src/domain/pet.ts';
import { waitFor } from './wait-for.ts';

/**
 * Two values for each field of a pet. This file does not compile until a new field is added here. The suites then test
 * the new field everywhere. The first value is never `undefined`, because the suites try to change it in arguments and
 * in results.
 */
const VALUES: { readonly [Field in keyof NewPet]: readonly [NonNullable<NewPet[Field]>, NewPet[Field]] } = {
  name: ['Rex', 'Tom'],
  categoryId: [7n, 8n],
  status: ['available', 'sold'],
};

/** A new pet with defaults for the fields that a test does not care about. */
export function aPet(fields: Partial<PetDraft> = {}): NewPet {
  const defaults = Object.entries(VALUES).map(([field, [value]]) => [field, value]);
  return newPet({ ...(Object.fromEntries(defaults) as NewPet), ...fields });
}

export const rex = aPet();

/** One entry for each field: its name, and a pet that differs from {@link rex} only in this field. */
export const variantsOfRex = Object.entries(VALUES).map(
  ([field, [, other]]): readonly [field: string, pet: NewPet] => [field, aPet({ [field]: other })],
);

/** Tries to change every field of a pet or an API key, also inside lists and dates. Frozen fields keep their values. */
export function tamper(value: object): void {
  for (const [field, old] of Object.entries(value)) {
    if (old instanceof Date) old.setTime(0);
    else if (typeof old === 'object' && old !== null) tamper(old);
    else Reflect.set(value, field, typeof old === 'bigint' ? 99n : 'changed');
  }
}

/** Inserts a pet for each of `fieldSets`, one pet after the other. */
export async function insertPets(
  pets: PetRepository,
  ...fieldSets: readonly Partial<PetDraft>[]
): Promise<readonly Pet[]> {
  const result: Pet[] = [];
  for (const fields of fieldSets) result.push(await pets.insert(aPet(fields)));
  return result;
}

/** A body for createPet. The values of `fields` are JSON texts, so a test controls every digit and every escape. */
export function petBody(fields: Readonly<Record<string, string>> = {}): string {
  const all = Object.entries({ name: '"Rex"', categoryId: '7', ...fields });
  return `{${all.map(([name, json]) => `"${name}":${json}`).join(',')}}`;
}

/** All methods of the port. `STORAGE_OPERATIONS` does not compile if one of them is missing. */
const METHODS = Object.keys(STORAGE_OPERATIONS.pets) as (keyof PetRepository)[];

/** A repository in memory. Each call first waits for `beforeCall`, and rejects if `beforeCall` rejects. */
class RepositoryWithHook extends InMemoryPetRepository {
  constructor(beforeCall: () => Promise<unknown>) {
    super();
    for (const method of METHODS) {
      const call: (...args: never) => Promise<unknown> = this[method].bind(this);
      this[method] = async (...args: never) => (await beforeCall(), (await call(...args)) as never);
    }
  }
}

/** A repository in which every call rejects with this error. */
export class FailingPetRepository extends RepositoryWithHook {
  constructor(error: unknown) {
    super(async () => {
      throw error;
    });
  }
}

/** A repository in which every call waits until `release` is called. */
export class HeldPetRepository extends RepositoryWithHook {
  readonly #released = Promise.withResolvers<void>();
  readonly #events = new EventEmitter();
  #calls = 0;

  constructor() {
    super(() => {
      this.#calls++;
      this.#events.emit('call');
      return this.#released.promise;
    });
  }

  /** Resolves when this many calls have begun. */
  async calls(count: number): Promise<void> {
    await waitFor(this.#events, 'call', () => (this.#calls >= count ? true : undefined));
  }

  release(): void {
    this.#released.resolve();
  }
}
