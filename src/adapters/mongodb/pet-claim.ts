import type { UUID } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Deadline } from './connection/deadline.ts';
import { isWrittenBy } from './pet-document.ts';
import type { PetDocument } from './schema/collections.ts';

/** A claim is a new pet that waits for its id. */
export type NewClaim = {
  readonly pet: NewPet;
  readonly idempotency: Idempotency | undefined;
  readonly token: UUID;
  readonly deadline: Deadline;
};

export type Claim = NewClaim &
  PromiseWithResolvers<PetDocument> & {
    /** The document of the last attempt. MongoDB may have stored it. */
    document?: PetDocument;
  };

/**
 * Whether an earlier attempt has stored the claim. The answer is right only while pets never change: see
 * docs/explanation/ids-on-mongodb.md.
 */
export const isStored: WhilePetsNeverChange<(claim: Claim, found: PetDocument | undefined) => boolean> = (
  { token },
  found,
) => found !== undefined && isWrittenBy(token, found);

/** Returns one claim per idempotency key. The other claims with this key share its outcome. */
export function withoutEqualKeys(claims: readonly Claim[]): Claim[] {
  const byKey = new Map<unknown, Claim>();
  for (const claim of claims) {
    const key = claim.idempotency?.key ?? claim;
    const firstClaim = byKey.getOrInsert(key, claim);
    if (firstClaim !== claim) firstClaim.promise.then(claim.resolve, claim.reject);
  }
  return [...byKey.values()];
}
