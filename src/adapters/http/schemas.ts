import * as v from 'valibot';
import { isInt64 } from '../../domain/int64.ts';
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, PAGE_SIZE_MIN } from '../../domain/page-size.ts';
import { DEFAULT_PET_STATUS, PET_STATUSES } from '../../domain/pet.ts';
import { petNameProblem } from '../../domain/pet-name.ts';
import { decodeCursor } from './cursor.ts';
import { RequestRefused } from './errors.ts';

// Each message is the rest of a sentence that begins with the name of the field.
const STATUS = `must be one of ${PET_STATUSES.join(', ')}`;
const INT64 = 'must be an integer in the range of int64';
const LIMIT = `must be an integer from ${PAGE_SIZE_MIN} to ${PAGE_SIZE_MAX} in plain decimal digits`;
const PET_ID = 'must be an int64 in canonical decimal digits';
const ONCE = 'must be given only once';
const CURSOR = 'must be a cursor from the Link header of an earlier page';

export const PetStatus = v.picklist(PET_STATUSES, STATUS);

export const PetName = v.pipe(
  v.string('must be a string'),
  v.check(
    (name) => petNameProblem(name) === undefined,
    ({ input }) => petNameProblem(input) ?? '',
  ),
);

/** An int64 as {@link parseJson} delivers it: every other number is still a double. */
export const Int64 = v.bigint(INT64);

/** A field that is not there has the issue of the object, not of the field. */
const required = (issue: v.BaseIssue<unknown>) =>
  issue.path === undefined ? 'must be a JSON object' : 'is required';

/** The body of createPet. Further fields are accepted and not read. */
export const NewPet = v.object(
  { name: PetName, categoryId: Int64, status: v.optional(PetStatus, DEFAULT_PET_STATUS) },
  required,
);

export const Pet = v.object({ id: Int64, name: PetName, categoryId: Int64, status: PetStatus });

export const Pets = v.array(Pet);

export const ErrorBody = v.object({
  code: v.string(),
  message: v.string(),
  status: v.pipe(v.number(), v.integer()),
});

export const PetId = v.pipe(
  v.string(PET_ID),
  v.regex(/^(?:0|-?[1-9]\d{0,18})$/, PET_ID),
  v.transform((digits) => BigInt(digits)),
  v.bigint(),
  v.check(isInt64, PET_ID),
);

export const Limit = v.pipe(
  v.string(ONCE),
  v.regex(/^[1-9]\d{0,2}$/, LIMIT),
  v.transform(Number),
  v.number(),
  v.integer(),
  v.minValue(PAGE_SIZE_MIN, LIMIT),
  v.maxValue(PAGE_SIZE_MAX, LIMIT),
);

export const Cursor = v.pipe(
  v.string(ONCE),
  v.check((cursor) => decodeCursor(cursor) !== undefined, CURSOR),
);

/** The query parameters of listPets. */
export const PageQuery = v.strictObject(
  {
    limit: v.optional(Limit, String(PAGE_SIZE_DEFAULT)),
    status: v.optional(v.pipe(v.string(ONCE), PetStatus)),
    cursor: v.optional(Cursor),
  },
  'is not a parameter of this operation',
);

/** The query parameters of an operation that has none. */
export const NoQuery = v.strictObject({}, 'is not a parameter of this operation');

/**
 * The parsed value.
 *
 * @throws {RequestRefused} INVALID_ARGUMENT naming everything that is wrong with it; INVALID_CURSOR when that is
 * the cursor alone
 */
export function parse<S extends v.GenericSchema>(schema: S, input: unknown, whole: string): v.InferOutput<S> {
  const { success, output, issues } = v.safeParse(schema, input);
  if (success) return output;
  const fields = issues.map((issue) => v.getDotPath(issue) ?? whole);
  const problems = issues.map(({ message }, index) => `${fields[index]} ${message}`);
  const code = fields.every((field) => field === 'cursor') ? 'INVALID_CURSOR' : 'INVALID_ARGUMENT';
  throw new RequestRefused(code, problems.join('; '));
}
