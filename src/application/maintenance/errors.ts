/** The pet in the target stays unchanged. */
export class PetIdTaken extends Error {
  readonly kind = 'pet-id-taken';
  readonly fault = 'client';

  constructor(id: bigint) {
    super(`another pet already has the id ${id}; use an empty storage, or the API, which gives new ids`);
  }
}

export class IdempotencyKeyTaken extends Error {
  readonly kind = 'idempotency-key-taken';
  readonly fault = 'client';

  constructor(id: bigint) {
    super(`the pet with the id ${id} was not stored: another pet already has its idempotency key`);
  }
}

/** During the run, pets disappeared, or other pets appeared in the target. */
export class CountsDiffer extends Error {
  readonly kind = 'counts-differ';
  readonly fault = 'operator';

  constructor(
    where: 'source' | 'target',
    { expected, found }: { readonly expected: number; readonly found: number },
  ) {
    const cause = found < expected ? 'did something remove pets' : 'does another program write pets there';
    super(`the ${where} should have ${expected} pets, but it has ${found}: ${cause}? Run the command again`);
  }
}
