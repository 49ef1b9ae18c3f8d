import fc from 'fast-check';
import {
  INT64_MAX,
  INT64_MIN,
  type NewPet,
  newPet,
  PET_NAME_MAX_LENGTH,
  PET_STATUSES,
  petNameProblem,
} from '../../src/domain/pet.ts';

/** An int64, often near a limit of int64, int32 or an exact `number`, because an adapter could use a wrong type. */
export const int64 = fc.oneof(
  fc.bigInt({ min: INT64_MIN, max: INT64_MAX }),
  fc
    .tuple(
      fc.constantFrom(
        INT64_MIN,
        -(2n ** 53n),
        -(2n ** 32n),
        -(2n ** 31n),
        0n,
        2n ** 31n,
        2n ** 32n,
        2n ** 53n,
        INT64_MAX,
      ),
      fc.bigInt({ min: -2n, max: 2n }),
    )
    .map(([limit, distance]) => BigInt.asIntN(64, limit + distance)),
);

/** Any text. The text may contain lone surrogates (halves of a UTF-16 pair). */
export const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
);

const petName = fc
  .oneof(text, fc.string({ unit: 'binary', minLength: 200, maxLength: PET_NAME_MAX_LENGTH }))
  .filter((name) => petNameProblem(name) === undefined);

export const petStatus = fc.constantFrom(...PET_STATUSES);

/** The type requires an arbitrary for each field of a new pet. */
const FIELDS: { readonly [Field in keyof NewPet]: fc.Arbitrary<NewPet[Field]> } = {
  name: petName,
  categoryId: int64,
  status: petStatus,
};

/** A valid new pet. */
export const aNewPet = fc.record(FIELDS).map((draft) => newPet(draft));
