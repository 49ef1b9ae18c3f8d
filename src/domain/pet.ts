export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** A phrase that follows the name of the field. */
export const PET_STATUS_RULE = `must be one of ${PET_STATUSES.join(', ')}`;
/** The status of a pet whose draft has none. */
export const DEFAULT_PET_STATUS: PetStatus = 'available';

/** The greatest id: 2^53 - 1. Every id up to it is exact in a JavaScript client. */
export const MAX_PET_ID = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * The greatest id that a pet may bring along. It leaves 10^15 ids for new pets: 1,500 years at 20,000 per second, or a
 * thousand restored backups, each of which skips 10^12.
 */
export const MAX_IMPORTED_PET_ID = MAX_PET_ID - 10n ** 15n;

/**
 * How many ids a restored storage skips: the original storage may have assigned them to other pets after the backup. At
 * 20,000 creates per second, these ids are used up in 19 months.
 */
export const SKIPPED_PET_IDS = 10n ** 12n;

/** Limits on the number of pets in one page of the list. */
export const PAGE_SIZE = { min: 1, max: 100, default: 20 } as const;

/** The range of a signed 64-bit integer, OpenAPI's `format: int64`. */
export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;
/** A phrase that follows the name of the field. */
export const INT64_RULE = 'must be an integer in the range of int64';

/** A pet that a client asks to add. Not checked yet. */
export type PetDraft = {
  readonly name: string;
  readonly categoryId: bigint;
  /** {@link DEFAULT_PET_STATUS} when absent. */
  readonly status?: PetStatus | undefined;
};

/**
 * A pet that obeys every rule and has no id yet. Only {@link newPet} makes one.
 *
 * No field is optional. One that some pets lack is `undefined` in them. So the compiler names every place that misses a
 * new field.
 */
export type NewPet = {
  /** 1 to 255 code points, see {@link petNameProblem}. Kept verbatim. */
  readonly name: string;
  /** Any int64. Opaque: there is no category resource to check it against. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
};

/** A pet in the catalogue. */
export type Pet = NewPet & {
  /** 1 to {@link MAX_PET_ID}. Assigned by the repository and never reused. */
  readonly id: bigint;
};

/** A draft breaks the rules of a pet. The message names every broken rule. */
export class InvalidPet extends Error {
  readonly kind = 'invalid-pet';
  readonly fault = 'client';

  /** @param problems phrases such as "name must not be empty" */
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
  }
}

/**
 * Every field of a pet, with the rule that a value of any type breaks: a phrase that follows the name of the field, or
 * `undefined`.
 */
export const PET_RULES: { readonly [Field in keyof NewPet]: (value: unknown) => string | undefined } = {
  name: (name) => (typeof name === 'string' ? petNameProblem(name) : 'must be a string'),
  categoryId: (id) => (typeof id === 'bigint' && isInt64(id) ? undefined : INT64_RULE),
  status: (status) => ((PET_STATUSES as readonly unknown[]).includes(status) ? undefined : PET_STATUS_RULE),
};

/**
 * The fields that came after the first release, in the order in which they came. Every stored fingerprint and checksum
 * depends on this order: a new field comes last.
 */
const LATER_FIELDS: { readonly [Field in Exclude<keyof NewPet, 'name' | 'categoryId' | 'status'>]: true } =
  {};

/** @throws {InvalidPet} naming every rule that the draft breaks */
export function newPet({ name, categoryId, status = DEFAULT_PET_STATUS }: PetDraft): NewPet {
  const pet = unchangeable<NewPet>({ name, categoryId, status });
  const problems = petProblems(pet);
  if (problems.length > 0) throw new InvalidPet(problems);
  return pet;
}

/** A pet with its id. Drops all other fields. Trusts the caller that the rest obeys the rules. */
export function petWithId(id: bigint, { name, categoryId, status }: NewPet): Pet {
  return unchangeable<Pet>({ id, name, categoryId, status });
}

/**
 * Callers share pets, so no caller may be able to change one. A field that holds an object, such as a list, does not
 * compile here before it is copied and frozen.
 */
function unchangeable<P extends NewPet>(pet: { readonly [Field in keyof P]: Primitive<P[Field]> }): P {
  return Object.freeze(pet);
}

type Primitive<Value> = Value extends string | bigint | number | boolean | undefined ? Value : never;

/** Every rule that the fields break, as phrases such as "status must be …". No phrase contains the value of a field. */
export function petProblems(fields: Partial<Record<keyof NewPet, unknown>>): readonly string[] {
  const phrases: string[] = [];
  // Not `Object.entries`, which takes longer: every pet of a list is checked.
  for (const field in PET_RULES) {
    const problem = PET_RULES[field as keyof NewPet](fields[field as keyof NewPet]);
    if (problem !== undefined) phrases.push(`${field} ${problem}`);
  }
  return phrases;
}

/**
 * The fields of a pet as texts. Equal pets have equal texts, and only they. Every stored fingerprint and checksum is
 * made from them. A later field that a pet lacks is left out, so that older pets keep theirs.
 */
export function petTexts(
  pet: NewPet,
): [name: string, categoryId: string, status: string, ...later: string[]] {
  const texts: ReturnType<typeof petTexts> = [pet.name, `${pet.categoryId}`, pet.status];
  for (const later in LATER_FIELDS) {
    const value = pet[later as keyof NewPet];
    if (value !== undefined) texts.push(JSON.stringify([later, value]));
  }
  return texts;
}

/** The rule that a value of any type breaks as the id of a pet, as a phrase that follows the word "id", or `undefined`. */
export function petIdProblem(id: unknown): string | undefined {
  if (typeof id === 'bigint' && id >= 1n && id <= MAX_PET_ID) return undefined;
  return `must be an integer from 1 to ${MAX_PET_ID}`;
}

/** What is wrong with an id that a pet brings along, or `undefined`. */
export function importedIdProblem(id: bigint): string | undefined {
  if (id <= MAX_IMPORTED_PET_ID) return undefined;
  return `the id ${id} is greater than ${MAX_IMPORTED_PET_ID}, which would leave too few ids for new pets`;
}

/** @param lastId the greatest id that was ever assigned or reserved */
export function petIdsLeft(lastId: bigint): bigint {
  return lastId < MAX_PET_ID ? MAX_PET_ID - lastId : 0n;
}

/** A warning for operators when one more restored backup would use up the ids, or `undefined`. */
export function petIdsWarning(lastId: bigint): string | undefined {
  if (petIdsLeft(lastId) >= SKIPPED_PET_IDS) return undefined;
  return `fewer than ${SKIPPED_PET_IDS} ids are left for new pets`;
}

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

/** Lengths of a pet's name, in Unicode code points. */
export const PET_NAME_MIN_LENGTH = 1;
export const PET_NAME_MAX_LENGTH = 255;

const CONTROL = '\\x00-\\x1f\\x7f';

/**
 * Matches a name that has no control character and at least one character that is not white space. `\s` and `\S` are
 * those of ECMA-262, with and without the `u` flag; other languages differ on U+0085, U+180E and U+FEFF. All of them
 * can read these escapes: PCRE, Perl and RE2, which Go uses, have no `\u`. Runs in linear time: no two adjacent repeats
 * match the same character.
 */
export const PET_NAME_PATTERN = `^[^\\S${CONTROL}]*[^\\s${CONTROL}][^${CONTROL}]*$`;

const pattern = new RegExp(PET_NAME_PATTERN);
const control = new RegExp(`[${CONTROL}]`);

/** The rule that a name breaks, as a phrase that follows the word "name", or `undefined`. */
export function petNameProblem(name: string): string | undefined {
  // No text has more code points than code units, so a short name needs no counting.
  if (name.length > PET_NAME_MAX_LENGTH && Array.from(name).length > PET_NAME_MAX_LENGTH) {
    return `must be at most ${PET_NAME_MAX_LENGTH} characters long`;
  }
  if (name.length < PET_NAME_MIN_LENGTH) return 'must not be empty';
  if (!name.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (pattern.test(name)) return undefined;
  if (control.test(name)) return 'must not contain control characters (U+0000 to U+001F, U+007F)';
  return 'must contain a character that is not white space';
}
