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

/** Somebody has changed the one side or the other meanwhile: not everything that should be there is. */
export class CountsDiffer extends Error {
  readonly kind = 'counts-differ';
  readonly expected: number;
  readonly found: number;

  constructor(what: string, { expected, found }: { readonly expected: number; readonly found: number }) {
    super(
      `${what}: ${expected} pets were expected, and ${found} are there; somebody has changed them meanwhile: do it again`,
    );
    this.name = 'CountsDiffer';
    this.expected = expected;
    this.found = found;
  }
}
