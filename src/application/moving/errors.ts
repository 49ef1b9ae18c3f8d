/** What moving pets is known to fail with, besides {@link StorageUnavailable}. */
export type ArchiveError = PetIdTaken | IdempotencyKeyTaken | CountsDiffer;

/** Another pet is there under this id. It was not overwritten. */
export class PetIdTaken extends Error {
  readonly kind = 'pet-id-taken';
  readonly id: bigint;

  constructor(id: bigint) {
    super(`another pet is there under the id ${id}; it was not overwritten`);
    this.name = 'PetIdTaken';
    this.id = id;
  }
}

/** Another pet has the idempotency key of this one, which was not stored. */
export class IdempotencyKeyTaken extends Error {
  readonly kind = 'idempotency-key-taken';
  /** Of the pet that was not stored. */
  readonly id: bigint;

  constructor(id: bigint) {
    super(`another pet has the idempotency key of the one with the id ${id}, which was not stored`);
    this.name = 'IdempotencyKeyTaken';
    this.id = id;
  }
}

/** Pets have gone from the source or the target during the run, or other pets have come into the target. */
export class CountsDiffer extends Error {
  readonly kind = 'counts-differ';
  readonly expected: number;
  readonly found: number;

  constructor(
    where: 'source' | 'target',
    { expected, found }: { readonly expected: number; readonly found: number },
  ) {
    const cause = found < expected ? 'has something removed pets' : 'does another program write pets there';
    super(
      `the ${where} should have ${expected} pets, but ${found} were found: ${cause}? Run the command again`,
    );
    this.name = 'CountsDiffer';
    this.expected = expected;
    this.found = found;
  }
}
