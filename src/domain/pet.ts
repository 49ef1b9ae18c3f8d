import { isInt64 } from './int64.ts';
import { InvalidPet } from './invalid-pet.ts';
import { petNameProblem } from './pet-name.ts';
import type { Unchecked } from './unchecked.ts';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** The status of a pet whose draft has none. */
export const DEFAULT_PET_STATUS: PetStatus = 'available';

/** The greatest id: 2^53 - 1. Every id up to it is exact in a JavaScript client. */
export const MAX_PET_ID = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * The greatest id that a pet may bring along. It leaves 10^15 ids for new pets: 1,500 years at 20,000 a second, or a
 * thousand restored backups, each of which skips 10^12.
 */
export const MAX_BROUGHT_PET_ID = MAX_PET_ID - 10n ** 15n;

/**
 * How many ids a restored storage skips. The original one may have given them to other pets after the backup. At 20,000
 * creates a second they last 19 months.
 */
export const SKIPPED_PET_IDS = 10n ** 12n;

/** A pet that a client asks to add. Not checked yet. */
export type PetDraft = {
  readonly name: string;
  readonly categoryId: bigint;
  /** {@link DEFAULT_PET_STATUS} when absent. */
  readonly status?: PetStatus | undefined;
};

/** A pet that obeys every rule and has no id yet. Only {@link newPet} makes one. */
export type NewPet = {
  /** 1 to 255 code points, see {@link petNameProblem}. Kept verbatim. */
  readonly name: string;
  /** Any int64. Opaque: there is no category resource to check it against. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
};

/** A pet in the catalogue. Never changes. */
export type Pet = NewPet & {
  /** 1 to {@link MAX_PET_ID}. Assigned by the repository and never reused. */
  readonly id: bigint;
};

/** @throws {InvalidPet} naming every rule that the draft breaks */
export function newPet({ name, categoryId, status = DEFAULT_PET_STATUS }: PetDraft): NewPet {
  const pet = Object.freeze({ name, categoryId, status });
  const problems = petProblems(pet);
  if (problems.length > 0) throw new InvalidPet(problems);
  return pet;
}

/** Every rule that the fields break, as phrases such as "status must be …". No phrase contains the value of a field. */
export function petProblems({ name, categoryId, status }: Unchecked<NewPet>): readonly string[] {
  const problems: string[] = [];
  const nameProblem = typeof name === 'string' ? petNameProblem(name) : 'must be a string';
  if (nameProblem !== undefined) problems.push(`name ${nameProblem}`);
  if (typeof categoryId !== 'bigint' || !isInt64(categoryId)) {
    problems.push('categoryId must be a signed 64-bit integer');
  }
  if (!(PET_STATUSES as readonly unknown[]).includes(status)) {
    problems.push(`status must be one of ${PET_STATUSES.join(', ')}`);
  }
  return problems;
}

/** What is wrong with an id that a pet brings along, or `undefined`. */
export function broughtIdProblem(id: bigint): string | undefined {
  if (id <= MAX_BROUGHT_PET_ID) return undefined;
  return `the id ${id} is greater than ${MAX_BROUGHT_PET_ID}, which would leave too few ids for new pets`;
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

/** A pet with its id. Drops all other fields. Trusts the caller that the rest obeys the rules. */
export function storedPet(id: bigint, { name, categoryId, status }: NewPet): Pet {
  return Object.freeze({ id, name, categoryId, status });
}
