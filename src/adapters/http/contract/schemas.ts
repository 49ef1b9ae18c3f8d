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
import { errorAnswer, ERRORS } from './errors.ts';

// An answer has the name of the field before each message, such as `status is required`.

/** Only the OpenAPI document uses the metadata. */
function documented<S extends v.GenericSchema>(schema: S, metadata: Readonly<Record<string, unknown>>) {
  return v.pipe(schema, v.metadata(metadata));
}

export const PetStatus = documented(v.picklist(PET_STATUSES, PET_STATUS_RULE), {
  description: 'Availability of an animal. Case-sensitive.',
});

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

/** `parseJson` returns a bigint for an int64, and a double for any other number. */
const Int64 = v.bigint(INT64_RULE);

const CategoryId = documented(Int64, {
  description:
    'Identifier of the category the animal belongs to. Opaque: its existence is not checked. Any JSON number ' +
    `that is an integer from ${INT64_MIN} to ${INT64_MAX}; \`1.0\` and \`1e3\` are integers. The service keeps ` +
    'every digit. A client that reads numbers as doubles loses precision beyond 2^53.',
  example: 7,
});

type Schemas<Entity> = Record<keyof Entity, v.GenericSchema>;

const FIELDS = { name: PetName, categoryId: CategoryId, status: PetStatus } satisfies Schemas<NewPetFields>;

export const NewPet = documented(
  v.object({ ...FIELDS, status: v.optional(PetStatus, DEFAULT_PET_STATUS) }, 'is required'),
  {
    description:
      `An animal to add. Without a \`status\` it is \`${DEFAULT_PET_STATUS}\`. None of these fields may be \`null\`. ` +
      'The service accepts other fields and does not store them. That includes `id` and a misspelt `status`.',
  },
);

export const Pet = documented(
  v.object({
    id: documented(Int64, {
      description:
        `Unique identifier, assigned by the service on creation: from 1 to ${MAX_PET_ID}, which a double holds ` +
        'exactly. Ids increase, may have gaps, and are never reused.',
      example: 42,
    }),
    ...FIELDS,
  } satisfies Schemas<PetFields>),
  { description: 'An animal in the catalogue. Later versions may add fields.' },
);

export const Pets = documented(v.array(Pet), {
  description: 'Animals in ascending order of id.',
  maxItems: PAGE_SIZE.max,
});

const EXAMPLE_ERROR = errorAnswer(new PetNotFound(42n));

export const ErrorBody = documented(
  v.object({
    code: documented(v.string(), {
      description:
        'Machine-readable error code. Codes are stable. The set is open: fall back on `status` for an unknown ' +
        'code.',
      'x-extensible-enum': Object.keys(ERRORS),
      example: EXAMPLE_ERROR.code,
    }),
    message: documented(v.string(), {
      description: 'Human-readable description. The wording may change.',
      example: EXAMPLE_ERROR.message,
    }),
    status: documented(v.pipe(v.number(), v.integer()), {
      description: 'The HTTP status code of the response.',
      example: EXAMPLE_ERROR.status,
    }),
  }),
  { description: 'The body of every error response.' },
);
