import type { UUID } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { Idempotency } from '../../application/ports/pet-repository.ts';
import type { NewPet } from '../../domain/pet.ts';
import type { Deadline } from './connection/deadline.ts';
import { isWrittenBy } from './pet-document.ts';
import type { PetDocument } from './schema/collections.ts';

export type NewClaim = {
  readonly pet: NewPet;
  readonly idempotency: Idempotency | undefined;
  readonly token: UUID;
  readonly deadline: Deadline;
};

export type Claim = NewClaim &
  PromiseWithResolvers<PetDocument> & {
    /** The last document sent. MongoDB may have stored it. */
    document?: PetDocument;
  };

/**
 * Whether an earlier attempt has stored the claim. Right only while pets never change: see
 * docs/explanation/ids-on-mongodb.md.
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
