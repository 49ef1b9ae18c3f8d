import type { ArchivedPet } from '../../application/ports/pet-archive.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import { DEFAULT_PET_STATUS, type Pet, PET_RULES, petIdProblem, petWithId } from '../../domain/pet.ts';
import { isSha256, SHA_256_RULE } from '../../domain/sha-256.ts';
import { parseJson, petJson } from '../json/exact-json.ts';

type Fields = Readonly<Record<string, unknown>>;
/** A rule returns a phrase that follows the name of the field. */
type Rules = Readonly<Record<string, (value: unknown) => string | undefined>>;

const LINE_RULES = { id: petIdProblem, ...PET_RULES } satisfies Record<keyof Pet, unknown>;

const hashProblem = (value: unknown) => (isSha256(value) ? undefined : SHA_256_RULE);
const HASH_RULES = { key: hashProblem, fingerprint: hashProblem } satisfies Record<
  keyof Idempotency,
  unknown
>;

/** Reports unknown fields, because ignoring a field would lose its data. */
function problemsOf(fields: Fields, rules: Rules, path = ''): readonly string[] {
  return Object.keys({ ...rules, ...fields }).flatMap((field) => {
    const problemOf = Object.hasOwn(rules, field) ? rules[field]! : () => 'is not a field of a pet';
    const problem = problemOf(fields[field]);
    if (problem === undefined) return [];
    return `${path}${field} ${fields[field] === undefined ? 'is required' : problem}`;
  });
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

export function petLines(pets: readonly ArchivedPet[]): string {
  return pets.map((pet) => `${petLine(pet)}\n`).join('');
}

/** `JSON.stringify` leaves out a field that is `undefined`. */
function petLine({ idempotency, ...pet }: ArchivedPet): string {
  const hashes = idempotency && { key: idempotency.key, fingerprint: idempotency.fingerprint };
  return JSON.stringify({ ...petJson(pet), idempotency: hashes });
}

/** Recognizes a JSON array, which other tools write. */
export function formProblem(start: string): string | undefined {
  if (!/^\s*\[/.test(start)) return undefined;
  return 'is a JSON array; write one pet per line, such as with: jq -c .[] (jq 1.7 or later)';
}

/** The end of a line that continues in the next line. */
const CONTINUES = /[{[,:]\s*$/;

/** Returns a pet, or all problems of the line in one text. */
export function parsePetLine(text: string): ArchivedPet | string {
  const form = formProblem(text);
  if (form !== undefined) return form;
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof RangeError) return 'is nested too deeply';
    if (!(error instanceof SyntaxError)) throw error;
    return CONTINUES.test(text)
      ? 'is not JSON; write each pet on one line, such as with: jq -c . (jq 1.7 or later)'
      : 'is not JSON';
  }
  if (!isObject(value)) return 'must be a JSON object';
  const { idempotency, ...fields } = value;
  const pet = { status: DEFAULT_PET_STATUS, ...fields };
  const problems = [...problemsOf(pet, LINE_RULES)];
  if (isObject(idempotency)) problems.push(...problemsOf(idempotency, HASH_RULES, 'idempotency.'));
  else if (idempotency !== undefined) problems.push('idempotency must be a JSON object');
  if (problems.length > 0) return problems.join('; ');
  const { id, ...rest } = pet as unknown as Pet;
  const parsed = petWithId(id, rest);
  return idempotency === undefined ? parsed : { ...parsed, idempotency: idempotency as Idempotency };
}
