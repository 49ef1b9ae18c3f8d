import { describe, expect, it } from 'vitest';
import { type ArchivedPet, samePet } from '../../../src/application/ports/pet-archive.ts';
import { anArchivedPet, idempotencyFor } from '../../support/archived-pets.ts';

describe('two pets', () => {
  const plain = anArchivedPet({ id: 1n });
  const pet = { ...plain, idempotency: idempotencyFor('key', 'body') };

  it('are the same when all their fields are equal', () => {
    expect(samePet(pet, structuredClone(pet))).toBe(true);
    expect(samePet(plain, structuredClone(plain))).toBe(true);
  });

  it.each<Partial<ArchivedPet>>([
    { id: 2n },
    { name: 'Tom' },
    { categoryId: 8n },
    { status: 'sold' },
    { idempotency: idempotencyFor('another key', 'body') },
    { idempotency: idempotencyFor('key', 'another body') },
  ])('differ when one field does: %o', (field) => {
    expect(samePet(pet, { ...pet, ...field })).toBe(false);
  });

  it('differ when only one of them has an idempotency key', () => {
    expect([samePet(pet, plain), samePet(plain, pet)]).toStrictEqual([false, false]);
  });
});
