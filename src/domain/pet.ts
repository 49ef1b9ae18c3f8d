export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** A phrase that follows the name of the field. */
export const PET_STATUS_RULE = `must be one of ${PET_STATUSES.join(', ')}`;
export const DEFAULT_PET_STATUS: PetStatus = 'available';

/** 2^53 - 1: every id is exact in a JavaScript client. */
export const MAX_PET_ID = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * An import leaves at least 10^15 ids for new pets. These ids last 1,500 years at 20,000 creates per second, or for
 * 1,000 restores, because each restore skips {@link SKIPPED_PET_IDS} ids.
 */
export const MAX_IMPORTED_PET_ID = MAX_PET_ID - 10n ** 15n;

/**
 * A restored storage skips this many ids, because the original storage may have assigned them after the backup. At
 * 20,000 creates per second, these ids last 19 months.
 */
export const SKIPPED_PET_IDS = 10n ** 12n;

/** Pets per page. */
export const PAGE_SIZE = { min: 1, max: 100, default: 20 } as const;

/** The range of OpenAPI's `format: int64`. */
export const INT64_MIN = -(2n ** 63n);
export const INT64_MAX = 2n ** 63n - 1n;
export const INT64_RULE = 'must be an integer in the range of int64';

/** The content of a create request. The rules are not checked yet. */
export type PetDraft = {
  readonly name: string;
  readonly categoryId: bigint;
  /** {@link DEFAULT_PET_STATUS} when absent. */
  readonly status?: PetStatus | undefined;
};

/**
 * A pet that obeys every rule and has no id yet. Only {@link newPet} makes such a pet. No field is optional (a missing
 * value is `undefined`), so the compiler names every place where a new field is missing.
 */
export type NewPet = {
  /** 1 to 255 code points: see {@link petNameProblem}. Stored unchanged. */
  readonly name: string;
  /** Any int64: the API has no categories to compare it with. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
};

export type Pet = NewPet & {
  /** 1 to {@link MAX_PET_ID}. The repository assigns each id once. */
  readonly id: bigint;
};

export class InvalidPet extends Error {
  readonly kind = 'invalid-pet';
  readonly fault = 'client';

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
  }
}

/** Each rule returns a phrase that follows the name of the field, or `undefined` if the value obeys the rule. */
export const PET_RULES: { readonly [Field in keyof NewPet]: (value: unknown) => string | undefined } = {
  name: (name) => (typeof name === 'string' ? petNameProblem(name) : 'must be a string'),
  categoryId: (id) => (typeof id === 'bigint' && isInt64(id) ? undefined : INT64_RULE),
  status: (status) => ((PET_STATUSES as readonly unknown[]).includes(status) ? undefined : PET_STATUS_RULE),
};

/**
 * The fields that were added after the first release. Add a new field at the end, because stored fingerprints and
 * checksums depend on the order.
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

/** Removes unknown fields. Does not check the rules. */
export function petWithId(id: bigint, { name, categoryId, status }: NewPet): Pet {
  return unchangeable<Pet>({ id, name, categoryId, status });
}

/**
 * Pets are frozen, because callers share them. A field whose value is an object, such as a list, does not compile:
 * copy and freeze the object.
 */
function unchangeable<P extends NewPet>(pet: { readonly [Field in keyof P]: Primitive<P[Field]> }): P {
  return Object.freeze(pet);
}

type Primitive<Value> = Value extends string | bigint | number | boolean | undefined ? Value : never;

/** @returns every broken rule, as a phrase such as "status must be …", without the value of the field */
export function petProblems(fields: Partial<Record<keyof NewPet, unknown>>): readonly string[] {
  const phrases: string[] = [];
  // This loop is faster than `Object.entries`, and runs for every pet of a list.
  for (const field in PET_RULES) {
    const problem = PET_RULES[field as keyof NewPet](fields[field as keyof NewPet]);
    if (problem !== undefined) phrases.push(`${field} ${problem}`);
  }
  return phrases;
}

/**
 * Two pets have equal texts if and only if their fields are equal. Stored fingerprints and checksums depend on the
 * texts, so a {@link LATER_FIELDS later field} that is `undefined` adds no text.
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

/** @returns a phrase that follows the word "id", or `undefined` for a valid id */
export function petIdProblem(id: unknown): string | undefined {
  if (typeof id === 'bigint' && id >= 1n && id <= MAX_PET_ID) return undefined;
  return `must be an integer from 1 to ${MAX_PET_ID}`;
}

export function importedIdProblem(id: bigint): string | undefined {
  if (id <= MAX_IMPORTED_PET_ID) return undefined;
  return `the id ${id} is greater than ${MAX_IMPORTED_PET_ID}, which would leave too few ids for new pets`;
}

/** @param lastId the greatest id that was ever assigned, written or reserved */
export function petIdsLeft(lastId: bigint): bigint {
  return lastId < MAX_PET_ID ? MAX_PET_ID - lastId : 0n;
}

/** @returns a warning if too few ids are left for another restore */
export function petIdsWarning(lastId: bigint): string | undefined {
  if (petIdsLeft(lastId) >= SKIPPED_PET_IDS) return undefined;
  return `fewer than ${SKIPPED_PET_IDS} ids are left for new pets`;
}

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

/** In Unicode code points. */
export const PET_NAME_MIN_LENGTH = 1;
export const PET_NAME_MAX_LENGTH = 255;

const CONTROL_RANGES = '\\x00-\\x1f\\x7f';

/**
 * No control character, and at least one character that is not white space. Generated clients use the pattern:
 * docs/decisions.md, "The pattern of a name is written for every dialect". A match takes linear time, because two
 * adjacent repeats never match the same character.
 */
export const PET_NAME_PATTERN = `^[^\\S${CONTROL_RANGES}]*[^\\s${CONTROL_RANGES}][^${CONTROL_RANGES}]*$`;

const namePattern = new RegExp(PET_NAME_PATTERN);
const controlCharacter = new RegExp(`[${CONTROL_RANGES}]`);

/** @returns a phrase that follows the word "name", or `undefined` for a valid name */
export function petNameProblem(name: string): string | undefined {
  // Fast, because no text has more code points than code units.
  if (name.length > PET_NAME_MAX_LENGTH && Array.from(name).length > PET_NAME_MAX_LENGTH) {
    return `must be at most ${PET_NAME_MAX_LENGTH} characters long`;
  }
  if (name.length < PET_NAME_MIN_LENGTH) return 'must not be empty';
  if (!name.isWellFormed()) return 'must be well-formed Unicode, without lone surrogates';
  if (namePattern.test(name)) return undefined;
  if (controlCharacter.test(name)) return 'must not contain control characters (U+0000 to U+001F, U+007F)';
  return 'must contain a character that is not white space';
}
