import { EventEmitter } from 'node:events';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { STORAGE_OPERATIONS } from '../../src/application/ports/storage-operations.ts';
import { type NewPet, newPet, type Pet, type PetDraft } from '../../src/domain/pet.ts';
import { waitFor } from './wait-for.ts';

/**
 * Two values of each field. A new field does not compile without them, and the suites then try it everywhere. The first
 * value is never `undefined`: the suites change it in what they pass and in what is returned.
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

/** For each field, its name and a pet that differs from {@link rex} in it only. */
export const others = Object.entries(VALUES).map(
  ([field, [, other]]): readonly [field: string, pet: NewPet] => [field, aPet({ [field]: other })],
);

/** Changes whatever is not frozen in a pet or a key, lists and instants included. */
export function tamper(value: object): void {
  for (const [field, old] of Object.entries(value)) {
    if (old instanceof Date) old.setTime(0);
    else if (typeof old === 'object' && old !== null) tamper(old);
    else Reflect.set(value, field, typeof old === 'bigint' ? 99n : 'changed');
  }
}

/** Inserts a pet for each set of fields. */
export async function stored(
  pets: PetRepository,
  ...all: readonly Partial<PetDraft>[]
): Promise<readonly Pet[]> {
  const result: Pet[] = [];
  for (const fields of all) result.push(await pets.insert(aPet(fields)));
  return result;
}

/** The body of createPet. The fields are JSON text, so a test controls every digit and escape. */
export function petBody(fields: Readonly<Record<string, string>> = {}): string {
  const all = Object.entries({ name: '"Rex"', categoryId: '7', ...fields });
  return `{${all.map(([name, json]) => `"${name}":${json}`).join(',')}}`;
}

/** All methods of the port: the table does not compile without one of them. */
const METHODS = Object.keys(STORAGE_OPERATIONS.pets) as (keyof PetRepository)[];

/** A repository whose every call goes through this function first. */
class Guarded extends InMemoryPetRepository {
  constructor(before: () => Promise<unknown>) {
    super();
    for (const method of METHODS) {
      const call: (...args: never) => Promise<unknown> = this[method].bind(this);
      this[method] = async (...args: never) => (await before(), (await call(...args)) as never);
    }
  }
}

/** A repository whose every call rejects with this error. */
export class FailingPetRepository extends Guarded {
  constructor(error: unknown) {
    super(async () => {
      throw error;
    });
  }
}

/** A slow repository: calls wait until they are released. */
export class HeldPetRepository extends Guarded {
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

  /** Resolves after this many calls. */
  async calls(count: number): Promise<void> {
    await waitFor(this.#events, 'call', () => (this.#calls >= count ? true : undefined));
  }

  release(): void {
    this.#released.resolve();
  }
}
