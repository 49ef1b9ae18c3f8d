import { BSON, Int32, Long } from 'mongodb';
import { expect, it } from 'vitest';
import { decodePet, petIdIn } from '../../../src/adapters/mongodb/pet-document.ts';
import { MAX_PET_ID } from '../../../src/domain/pet.ts';

const rex = { name: 'Rex', categoryId: 2n ** 62n, status: 'sold' } as const;
const bytesOf = (_id: unknown, name: string = rex.name) =>
  BSON.serialize({ _id, ...rex, name, categoryId: Long.fromBigInt(rex.categoryId) });

it.each<readonly [unknown, bigint | undefined]>([
  [Long.fromNumber(1), 1n],
  [Long.fromBigInt(MAX_PET_ID), MAX_PET_ID],
  [Long.ZERO, undefined],
  [Long.fromNumber(-1), undefined],
  [Long.fromBigInt(MAX_PET_ID + 1n), undefined],
  [new Int32(7), undefined],
  ['7', undefined],
  // As long as a long.
  [new Date(7), undefined],
])('the bytes of a document with the _id %s have the id %s', (_id, id) => {
  expect(petIdIn(bytesOf(_id))).toBe(id);
});

it('bytes in the middle of a reply become a pet', () => {
  const document = bytesOf(Long.fromNumber(7));
  const reply = Buffer.concat([Buffer.alloc(5, 0x12), document, Buffer.alloc(5)]);
  const bytes = reply.subarray(5, 5 + document.length);

  expect(petIdIn(bytes)).toBe(7n);
  expect(decodePet(bytes)).toStrictEqual({ id: 7n, ...rex });
});

it('a pet whose text is not UTF-8 is damaged', () => {
  const bytes = Buffer.from(bytesOf(Long.fromNumber(7), 'R~x'));
  bytes[bytes.indexOf('R~x') + 1] = 0xff;

  expect(() => decodePet(bytes)).toThrow(
    expect.objectContaining({ kind: 'damaged-pet', id: 7n, problem: 'text must be UTF-8' }),
  );
});
