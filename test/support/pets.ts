import { EventEmitter } from 'node:events';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import type {
  Idempotency,
  Inserted,
  PetQuery,
  PetRepository,
} from '../../src/application/ports/pet-repository.ts';
import { type NewPet, newPet, type Pet, type PetDraft } from '../../src/domain/pet.ts';
import { waitFor } from './wait-for.ts';

/** Two values of each field. A new field does not compile without them, and the suites then try it everywhere. */
const VALUES: { readonly [Field in keyof NewPet]: readonly [NewPet[Field], NewPet[Field]] } = {
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

/** Changes whatever is not frozen in a pet, lists included. */
export function tamper(value: object): void {
  for (const [field, old] of Object.entries(value)) {
    if (typeof old === 'object' && old !== null) tamper(old);
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

/** A repository whose every call rejects with this error. */
export class FailingPetRepository implements PetRepository {
  readonly insert: () => Promise<never>;
  readonly insertOnce: () => Promise<never>;
  readonly findById: () => Promise<never>;
  readonly list: () => Promise<never>;

  constructor(error: unknown) {
    const fail = async () => {
      throw error;
    };
    this.insert = this.insertOnce = this.findById = this.list = fail;
  }
}

/** A slow repository: calls wait until they are released. */
export class HeldPetRepository implements PetRepository {
  readonly #pets = new InMemoryPetRepository();
  readonly #released = Promise.withResolvers<void>();
  readonly #events = new EventEmitter();
  #calls = 0;

  /** The number of calls so far. */
  get count(): number {
    return this.#calls;
  }

  /** Resolves after this many calls. */
  async calls(count: number): Promise<void> {
    await waitFor(this.#events, 'call', () => (this.#calls >= count ? true : undefined));
  }

  release(): void {
    this.#released.resolve();
  }

  async insert(pet: NewPet): Promise<Pet> {
    await this.#wait();
    return this.#pets.insert(pet);
  }

  async insertOnce(pet: NewPet, idempotency: Idempotency): Promise<Inserted> {
    await this.#wait();
    return this.#pets.insertOnce(pet, idempotency);
  }

  async findById(id: bigint): Promise<Pet | undefined> {
    await this.#wait();
    return this.#pets.findById(id);
  }

  async list(query: PetQuery): Promise<readonly Pet[]> {
    await this.#wait();
    return this.#pets.list(query);
  }

  async #wait(): Promise<void> {
    this.#calls++;
    this.#events.emit('call');
    await this.#released.promise;
  }
}
