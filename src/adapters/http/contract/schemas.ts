import * as v from 'valibot';
import { PetNotFound } from '../../../application/pets/errors.ts';
import {
  DEFAULT_PET_STATUS,
  INT64_MAX,
  INT64_MIN,
  INT64_RULE,
  MAX_PET_ID,
  type NewPet as NewPetFields,
  PAGE_SIZE,
  type Pet as PetFields,
  PET_NAME_MAX_LENGTH,
  PET_NAME_MIN_LENGTH,
  PET_NAME_PATTERN,
  PET_STATUS_RULE,
  PET_STATUSES,
  petNameProblem,
} from '../../../domain/pet.ts';
import { ERROR_STATUS, errorAnswer } from './errors.ts';

// Only the OpenAPI document uses the metadata: see ../openapi/schemas.ts.

// Each message is a phrase that follows the name of the field.

export const PetStatus = v.pipe(
  v.picklist(PET_STATUSES, PET_STATUS_RULE),
  v.description('Availability of an animal. Case-sensitive.'),
);

const PetName = v.pipe(
  v.string('must be a string'),
  v.check(
    (name) => petNameProblem(name) === undefined,
    ({ input }) => petNameProblem(input) ?? '',
  ),
  v.metadata({
    description:
      `The animal's name: ${PET_NAME_MIN_LENGTH} to ${PET_NAME_MAX_LENGTH} Unicode code points, at least one ` +
      'of them not white space; no control characters (U+0000 to U+001F, U+007F); well-formed, without lone ' +
      'surrogates. Stored and returned verbatim, never trimmed or normalised. Not unique. The service ' +
      'decides: a language may count bytes or UTF-16 code units for `maxLength`, know other white space, or let ' +
      '`pattern` match before a line feed at the end.',
    minLength: PET_NAME_MIN_LENGTH,
    maxLength: PET_NAME_MAX_LENGTH,
    pattern: PET_NAME_PATTERN,
    example: 'Rex',
  }),
);

/** An int64 as `parseJson` returns it. Any other number is a double. */
const Int64 = v.bigint(INT64_RULE);

const CategoryId = v.pipe(
  Int64,
  v.metadata({
    description:
      'Identifier of the category the animal belongs to. Opaque: its existence is not checked. Any JSON number ' +
      `that is an integer from ${INT64_MIN} to ${INT64_MAX}; \`1.0\` and \`1e3\` are integers. The service keeps ` +
      'every digit. A client that reads numbers as doubles loses precision beyond 2^53.',
    example: 7,
  }),
);

/** The body of createPet. Other fields are accepted and not stored. */
export const NewPet = v.pipe(
  v.object(
    {
      name: PetName,
      categoryId: CategoryId,
      status: v.optional(PetStatus, DEFAULT_PET_STATUS),
    } satisfies Record<keyof NewPetFields, v.GenericSchema>,
    'is required',
  ),
  v.metadata({
    description:
      `An animal to add. Without a \`status\` it is \`${DEFAULT_PET_STATUS}\`. None of these fields may be \`null\`. ` +
      'The service accepts other fields and does not store them. That includes `id` and a misspelt `status`.',
  }),
);

export const Pet = v.pipe(
  v.object({
    id: v.pipe(
      Int64,
      v.metadata({
        description:
          `Unique identifier, assigned by the service on creation: from 1 to ${MAX_PET_ID}, which a double holds ` +
          'exactly. Ids increase, may have gaps, and are never reused.',
        example: 42,
      }),
    ),
    name: PetName,
    categoryId: CategoryId,
    status: PetStatus,
  } satisfies Record<keyof PetFields, v.GenericSchema>),
  v.description('An animal in the catalogue. Later versions may add fields.'),
);

export const Pets = v.pipe(
  v.array(Pet),
  v.metadata({ description: 'Animals in ascending order of id.', maxItems: PAGE_SIZE.max }),
);

/** The error of the examples. */
const NOT_FOUND = errorAnswer(new PetNotFound(42n));

export const ErrorBody = v.pipe(
  v.object({
    code: v.pipe(
      v.string(),
      v.metadata({
        description:
          'Machine-readable error code. Codes are stable. The set is open: fall back on `status` for an unknown ' +
          'code.',
        'x-extensible-enum': Object.keys(ERROR_STATUS),
        example: NOT_FOUND.code,
      }),
    ),
    message: v.pipe(
      v.string(),
      v.metadata({
        description: 'Human-readable description. The wording may change.',
        example: NOT_FOUND.message,
      }),
    ),
    status: v.pipe(
      v.number(),
      v.integer(),
      v.metadata({ description: 'The HTTP status code of the response.', example: NOT_FOUND.status }),
    ),
  }),
  v.description('The body of every error response.'),
);
