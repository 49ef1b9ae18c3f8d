import { isInt64 } from './int64.ts';
import { InvalidPet } from './invalid-pet.ts';
import { petNameProblem } from './pet-name.ts';
import type { Problem } from './problem.ts';

export const PET_STATUSES = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof PET_STATUSES)[number];

/** The status of a pet that is added without one. */
export const DEFAULT_PET_STATUS: PetStatus = 'available';

/** Ids stay where a JavaScript number is exact, so that no client can corrupt one: 2^53 - 1. */
export const MAX_PET_ID = BigInt(Number.MAX_SAFE_INTEGER);

/** What somebody wants to add: not yet checked. */
export type PetDraft = {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status?: PetStatus | undefined;
};

/** A pet that obeys every rule and has no id yet. Only {@link newPet} makes one. */
export type NewPet = {
  /** 1 to 255 code points, see {@link petNameProblem}; kept verbatim. */
  readonly name: string;
  /** Any int64. Opaque: there is no category resource to check it against. */
  readonly categoryId: bigint;
  readonly status: PetStatus;
};

/** A pet in the catalogue. Never changes. */
export type Pet = NewPet & {
  /** 1 to {@link MAX_PET_ID}, given by the repository, never given twice. */
  readonly id: bigint;
};

/** @throws {InvalidPet} naming every field that breaks a rule. */
export function newPet({ name, categoryId, status = DEFAULT_PET_STATUS }: PetDraft): NewPet {
  const problems: Problem[] = [];
  const nameProblem = petNameProblem(name);
  if (nameProblem !== undefined) problems.push({ field: 'name', value: name, problem: nameProblem });
  if (!isInt64(categoryId)) {
    problems.push({ field: 'categoryId', value: categoryId, problem: 'must be a signed 64-bit integer' });
  }
  if (!PET_STATUSES.includes(status)) {
    problems.push({ field: 'status', value: status, problem: `must be one of ${PET_STATUSES.join(', ')}` });
  }
  if (problems.length > 0) throw new InvalidPet(problems);
  return Object.freeze({ name, categoryId, status });
}

/** The fields of what a storage holds as a pet. It may have been damaged since it was stored. */
export type StoredFields = { readonly [K in keyof NewPet]: unknown };

/** A field that breaks a rule and the rule, never the content of the field; `undefined` when all is well. */
export function storedPetProblem({ name, categoryId, status }: StoredFields): string | undefined {
  if (typeof name !== 'string') return 'name must be a string';
  const nameProblem = petNameProblem(name);
  if (nameProblem !== undefined) return `name ${nameProblem}`;
  if (typeof categoryId !== 'bigint' || !isInt64(categoryId)) {
    return 'categoryId must be a signed 64-bit integer';
  }
  if (!(PET_STATUSES as readonly unknown[]).includes(status)) {
    return `status must be one of ${PET_STATUSES.join(', ')}`;
  }
  return undefined;
}

/** A pet as a repository knows it. Trusts the caller that the rest is a {@link NewPet}. */
export function storedPet(id: bigint, { name, categoryId, status }: NewPet): Pet {
  return Object.freeze({ id, name, categoryId, status });
}
