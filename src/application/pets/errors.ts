import type { InvalidPet } from '../../domain/invalid-pet.ts';
import type { Pet } from '../../domain/pet.ts';

/** What the use cases of pets are known to fail with, besides {@link StorageUnavailable}. */
export type PetError =
  | InvalidPet
  | InvalidPageSize
  | PetNotFound
  | PetIdsExhausted
  | IdempotencyKeyReused
  | DamagedPet;

export class InvalidPageSize extends Error {
  readonly kind = 'invalid-page-size';
  readonly limit: number;

  constructor(limit: number, allowed: { readonly min: number; readonly max: number }) {
    super(`limit must be an integer from ${allowed.min} to ${allowed.max}`);
    this.name = 'InvalidPageSize';
    this.limit = limit;
  }
}

export class PetNotFound extends Error {
  readonly kind = 'pet-not-found';
  readonly id: bigint;

  constructor(id: bigint) {
    super(`no pet has the id ${id}`);
    this.name = 'PetNotFound';
    this.id = id;
  }
}

/** Every id up to 2^53 - 1 has been given. Nothing was stored. */
export class PetIdsExhausted extends Error {
  readonly kind = 'pet-ids-exhausted';

  constructor() {
    super('no pet id is left');
    this.name = 'PetIdsExhausted';
  }
}

/** The key was used before, to ask for something else. Nothing was stored. */
export class IdempotencyKeyReused extends Error {
  readonly kind = 'idempotency-key-reused';
  /** The hash of the key, as in `Idempotency`. */
  readonly key: string;

  constructor(key: string) {
    super('the idempotency key has been used for something else; use a new one');
    this.name = 'IdempotencyKeyReused';
    this.key = key;
  }
}

/**
 * What the storage holds under the id of a pet breaks the rules of a pet: it was damaged after it was stored, and only
 * an operator can help. Names what is wrong and never the content.
 */
export class DamagedPet extends Error {
  readonly kind = 'damaged-pet';
  readonly id: bigint;
  readonly problem: string;
  // Private, because a log prints every property of an error.
  readonly #before: readonly Pet[];

  /** @param problem the rest of a sentence that begins with the field, such as "status must be …" */
  constructor(id: bigint, problem: string, before: readonly Pet[] = []) {
    super(`the pet with the id ${id} is damaged in the storage: ${problem}`);
    this.name = 'DamagedPet';
    this.id = id;
    this.problem = problem;
    this.#before = before;
  }

  /** The pets that come before it in the page that was asked for. */
  get before(): readonly Pet[] {
    return this.#before;
  }
}
