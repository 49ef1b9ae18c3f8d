import * as v from 'valibot';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import { InvalidPet, MAX_PET_ID, newPet, PET_STATUSES, petWithId } from '../../domain/pet.ts';
import { parseJson, petJson } from '../json/exact-json.ts';

// Each message is a phrase that follows the name of a field.
const INT64 = 'must be an integer in the range of int64';
const ID = `must be an integer from 1 to ${MAX_PET_ID}`;
const DIGEST = 'must be 64 lower-case hex digits';

const Digest = v.pipe(v.string(DIGEST), v.regex(/^[0-9a-f]{64}$/, DIGEST));

/** Ignoring an unknown field would lose its data. `v.strictObject` would name only the first one. */
function onlyFields<Fields extends v.ObjectEntries>(
  fields: Fields,
): v.GenericSchema<unknown, v.InferOutput<v.ObjectSchema<Fields, undefined>>> {
  return v.objectWithRest(fields, v.never('is not a field of a pet'), structureProblem);
}

const Line = onlyFields({
  id: v.pipe(v.bigint(ID), v.minValue(1n, ID), v.maxValue(MAX_PET_ID, ID)),
  name: v.string('must be a string'),
  categoryId: v.bigint(INT64),
  status: v.optional(v.picklist(PET_STATUSES, `must be one of ${PET_STATUSES.join(', ')}`)),
  idempotency: v.optional(onlyFields({ key: Digest, fingerprint: Digest })),
} satisfies Record<keyof ArchivedPet, v.GenericSchema>);

function structureProblem({ path }: v.ObjectWithRestIssue): string {
  return path === undefined ? 'must be a JSON object' : 'is required';
}

/** The line of a pet, without its line end. */
function petLine(pet: ArchivedPet): string {
  if (pet.idempotency === undefined) return JSON.stringify(petJson(pet));
  const { key, fingerprint } = pet.idempotency;
  return JSON.stringify({ ...petJson(pet), idempotency: { key, fingerprint } });
}

/** The lines of these pets. */
export function petLines(pets: readonly ArchivedPet[]): string {
  return pets.map((pet) => `${petLine(pet)}\n`).join('');
}

/** What is wrong with a line that begins so, for its form alone: other tools write pets in another one. */
export function formProblem(start: string): string | undefined {
  if (!/^\s*\[/.test(start)) return undefined;
  return 'is a JSON array; write one pet per line, such as with: jq -c .[] (jq 1.7 or later)';
}

/** A line that goes on in the next one, as in JSON that is indented. */
const GOES_ON = /[{[,:]\s*$/;

/** The pet in a line, or every problem of the line in one text. */
export function parsePetLine(text: string): ArchivedPet | string {
  const form = formProblem(text);
  if (form !== undefined) return form;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof RangeError) return 'is nested too deeply';
    if (!(error instanceof SyntaxError)) throw error;
    return GOES_ON.test(text)
      ? 'is not JSON; write each pet on one line, such as with: jq -c . (jq 1.7 or later)'
      : 'is not JSON';
  }
  const { success, output, issues } = v.safeParse(Line, value);
  if (!success) {
    return issues.map((issue) => [v.getDotPath(issue), issue.message].filter(Boolean).join(' ')).join('; ');
  }
  const { id, idempotency, ...draft } = output;
  try {
    const pet = petWithId(id, newPet(draft));
    return idempotency === undefined ? pet : { ...pet, idempotency };
  } catch (error) {
    if (error instanceof InvalidPet) return error.message;
    throw error;
  }
}
