import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeCursor, encodeCursor } from '../../../../src/adapters/http/contract/query.ts';
import { INT64_MAX, INT64_MIN } from '../../../../src/domain/pet.ts';
import { int64, text } from '../../../../proof/properties/arbitraries.ts';
import { holds } from '../../../../proof/properties/holds.ts';

it('decodeCursor returns the id that encodeCursor has encoded, and a URL may contain the cursor unchanged', async () => {
  await holds(
    fc.property(int64, (id) => {
      const cursor = encodeCursor(id);
      expect([decodeCursor(cursor), encodeURIComponent(cursor)]).toStrictEqual([id, cursor]);
    }),
    500,
  );
});

it('decodeCursor refuses every text that encodeCursor does not return, so each id has exactly one cursor', async () => {
  // \u0660 is a digit in Unicode, but not in ASCII.
  const character = fc.constantFrom(...'0123456789abcdefABCDEFgv1. x-+\n\u0660'.split(''));
  const changedCursor = fc
    .tuple(int64, fc.nat(20), fc.oneof(character, fc.constant('')), fc.nat(1))
    .map(([id, offset, inserted, removedLength]) => {
      const cursor = encodeCursor(id);
      return cursor.slice(0, offset) + inserted + cursor.slice(offset + removedLength);
    });
  await holds(
    fc.property(fc.oneof(text, changedCursor), (cursor) => {
      const id = decodeCursor(cursor);
      if (id === undefined) expect(cursor).not.toMatch(/^v1\.[0-9a-f]{16}$/);
      else expect([encodeCursor(id), id >= INT64_MIN && id <= INT64_MAX]).toStrictEqual([cursor, true]);
    }),
    1_000,
  );
});
