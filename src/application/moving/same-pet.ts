import type { ArchivedPet } from '../ports/pet-archive.ts';

/** Whether the two are one pet: nothing that is known of them differs. */
export function samePet(a: ArchivedPet, b: ArchivedPet): boolean {
  return (
    a.id === b.id &&
    a.name === b.name &&
    a.categoryId === b.categoryId &&
    a.status === b.status &&
    a.idempotency?.key === b.idempotency?.key &&
    a.idempotency?.fingerprint === b.idempotency?.fingerprint
  );
}
