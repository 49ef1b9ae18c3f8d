import { BSON, Int32, Long, Timestamp, UUID } from 'mongodb';
import { expect, it } from 'vitest';
import {
  hasPetId,
  isWrittenBy,
  petIdIn,
  petIds,
  type StoredPetDocument,
  toPetDocument,
} from '../../../src/adapters/mongodb/pet-document.ts';
import { MAX_PET_ID, type Pet } from '../../../src/domain/pet.ts';
import { anArchivedPet, idempotencyFor } from '../../support/archived-pets.ts';

const rex = anArchivedPet({ id: 3n });
const idempotency = idempotencyFor('a');
const idem = { k: idempotency.key, fp: idempotency.fingerprint };
const document: StoredPetDocument = {
  _id: Long.fromNumber(3),
  name: 'Rex',
  categoryId: Long.fromNumber(7),
  status: 'available',
};

it('toPetDocument stores only the fields of the pet, and the two fields that a retry needs: "op" and "idem"', () => {
  const op = new UUID();
  expect(toPetDocument({ ...rex, owner: 'Tom' } as Pet, undefined)).toStrictEqual(document);
  expect(toPetDocument(rex, idempotency, op)).toStrictEqual({ ...document, op, idem });
});

it('toPetDocument throws for an integer outside int64, because BSON would store a different number', () => {
  expect(() => toPetDocument({ ...rex, categoryId: 2n ** 63n }, undefined)).toThrow(RangeError);
});

it('isWrittenBy recognises the document of an insert by the token of the insert', () => {
  const op = new UUID();
  expect(isWrittenBy(op, { ...document, op: new UUID(op.toString()) })).toBe(true);
  for (const differentOp of [new UUID(), undefined, op.toString()]) {
    expect(isWrittenBy(op, { ...document, op: differentOp })).toBe(false);
  }
});

it.each<readonly [unknown, bigint | undefined]>([
  [Long.fromNumber(1), 1n],
  [Long.fromBigInt(MAX_PET_ID), MAX_PET_ID],
  [Long.ZERO, undefined],
  [Long.fromNumber(-1), undefined],
  [Long.fromBigInt(MAX_PET_ID + 1n), undefined],
  [new Timestamp(7n), undefined],
  [new Int32(7), undefined],
  // A date has 8 bytes in BSON, like a long.
  [new Date(7), undefined],
  ['7', undefined],
  [undefined, undefined],
])('hasPetId and petIdIn read the _id %s of a document as the pet id %s', (_id, id) => {
  expect(hasPetId({ ...document, _id })).toBe(id !== undefined);
  expect(petIdIn(BSON.serialize({ ...document, _id }))).toBe(id);
});

const idFilter = (after: bigint, upTo: bigint) => ({
  _id: { $gt: Long.fromBigInt(after), $lte: Long.fromBigInt(upTo), $type: 'long' },
});

it('petIds limits a query to the ids that a pet can have, even if the requested range is larger', () => {
  expect(petIds({})).toStrictEqual(idFilter(0n, MAX_PET_ID));
  expect(petIds({ after: 5n, upTo: 9n })).toStrictEqual(idFilter(5n, 9n));
  expect(petIds({ after: -(2n ** 63n) - 1n, upTo: MAX_PET_ID + 1n })).toStrictEqual(idFilter(0n, MAX_PET_ID));
});
