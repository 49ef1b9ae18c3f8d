import { type InvalidPet, PAGE_SIZE, type Pet } from '../../domain/pet.ts';

/** The errors of the use cases of pets, except `StorageUnavailable`. */
export type PetError =
  | InvalidPet
  | InvalidPageSize
  | PetNotFound
  | PetIdsExhausted
  | IdempotencyKeyReused
  | DamagedPet;

export class InvalidPageSize extends Error {
  readonly kind = 'invalid-page-size';
  readonly fault = 'client';

  constructor() {
    super(`limit must be an integer from ${PAGE_SIZE.min} to ${PAGE_SIZE.max}`);
  }
}

export class PetNotFound extends Error {
  readonly kind = 'pet-not-found';
  readonly fault = 'client';

  constructor(id: bigint) {
    super(`no pet has the id ${id}`);
  }
}

/** All ids up to 2^53 - 1 are assigned. Nothing was stored. */
export class PetIdsExhausted extends Error {
  readonly kind = 'pet-ids-exhausted';
  readonly fault = 'operator';

  constructor() {
    super('no pet id is left');
  }
}

/** The call stored nothing. */
export class IdempotencyKeyReused extends Error {
  readonly kind = 'idempotency-key-reused';
  readonly fault = 'client';

  constructor() {
    super('the idempotency key has been used for something else; use a new one');
  }
}

/**
 * The stored record breaks the rules of a pet: the record was damaged after the write, and only an operator can repair
 * it. The message contains only the id and the broken rule.
 */
export class DamagedPet extends Error {
  readonly kind = 'damaged-pet';
  readonly fault = 'operator';
  readonly id: bigint;
  readonly problem: string;
  // Private, because loggers print every public property of an error.
  readonly #before: readonly Pet[];

  /** @param before the pets of the page before the damaged pet */
  constructor(id: bigint, problem: string, before: readonly Pet[] = []) {
    super(`the pet with the id ${id} is damaged in the storage: ${problem}`);
    this.id = id;
    this.problem = problem;
    this.#before = before;
  }

  get before(): readonly Pet[] {
    return this.#before;
  }
}
