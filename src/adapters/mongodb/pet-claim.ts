import type { UUID } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Deadline } from './connection/deadline.ts';
import { isWrittenBy } from './pet-document.ts';
import type { PetDocument } from './schema/collections.ts';

/** A pet that waits for its id. */
export type NewClaim = {
  readonly pet: NewPet;
  readonly idempotency: Idempotency | undefined;
  /** Marks the document. */
  readonly token: UUID;
  readonly deadline: Deadline;
};

/** A claim, and the promise of its document. */
export type Claim = NewClaim &
  PromiseWithResolvers<PetDocument> & {
    /** What was sent last. It may be stored. */
    document?: PetDocument;
  };

/**
 * Whether an earlier attempt has stored the claim: the document under its id has its token. A document that was removed
 * or replaced after the insert would look as if it had never been stored, and the pet would be stored again.
 */
export const isStored: WhilePetsNeverChange<(claim: Claim, found: PetDocument | undefined) => boolean> = (
  { token },
  found,
) => found !== undefined && isWrittenBy(token, found);

/** Claims with the same idempotency key share the outcome of the first one. */
export function withoutEqualKeys(claims: readonly Claim[]): Claim[] {
  const byKey = new Map<unknown, Claim>();
  for (const claim of claims) {
    const key = claim.idempotency?.key ?? claim;
    const same = byKey.getOrInsert(key, claim);
    if (same !== claim) same.promise.then(claim.resolve, claim.reject);
  }
  return [...byKey.values()];
}
