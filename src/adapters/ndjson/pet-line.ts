import * as v from 'valibot';
import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import { InvalidPet, MAX_PET_ID, newPet, PET_STATUSES, petWithId } from '../../domain/pet.ts';
import { parseJson, petJson } from '../json/exact-json.ts';

// Each message is a phrase that follows the name of a field.
const INT64 = 'must be an integer in the range of int64';
const ID = `must be an integer from 1 to ${MAX_PET_ID}`;
const DIGEST = 'must be 64 lower-case hex digits';

const Digest = v.pipe(v.string(DIGEST), v.regex(/^[0-9a-f]{64}$/, DIGEST));

// Strict: ignoring an unknown field would lose its data.
const Line = v.strictObject(
  {
    id: v.pipe(v.bigint(ID), v.minValue(1n, ID), v.maxValue(MAX_PET_ID, ID)),
    name: v.string('must be a string'),
    categoryId: v.bigint(INT64),
    status: v.optional(v.picklist(PET_STATUSES, `must be one of ${PET_STATUSES.join(', ')}`)),
    idempotency: v.optional(v.strictObject({ key: Digest, fingerprint: Digest }, structureProblem)),
  } satisfies Record<keyof ArchivedPet, v.GenericSchema>,
  structureProblem,
);

function structureProblem({ expected, path }: v.StrictObjectIssue): string {
  if (path === undefined) return 'must be a JSON object';
  return expected === 'never' ? 'is not a field of a pet' : 'is required';
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

/** The pet in a line, or every problem of the line in one text. */
export function parsePetLine(text: string): ArchivedPet | string {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof RangeError) return 'is nested too deeply';
    if (error instanceof SyntaxError) return text.trim() === '' ? 'is empty' : 'is not JSON';
    throw error;
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
