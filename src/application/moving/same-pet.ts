import type { ArchivedPet } from '../ports/pet-archive.ts';

/** Whether two pets agree in every field, including their idempotency keys. */
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
