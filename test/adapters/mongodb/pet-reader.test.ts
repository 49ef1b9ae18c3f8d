import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { PetReader } from '../../../src/adapters/mongodb/pet-reader.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { databasePool, openClient } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';
import { aPet } from '../../support/pets.ts';

const STATUS = 'status must be one of available, pending, sold';
const NAME = 'name must be a string';
const sold = aPet({ status: 'sold' });
const range = (first: number, last: number) => numbers(last - first + 1).map((n) => first + n);

/** The fields that damage has changed, by id. */
type Damage = Readonly<Record<number, Document>>;
const NO_STATUS: Damage = { 4: { status: 'gone' } };

describe.skipIf(mongo === undefined)(`a page of the sold pets in MongoDB${leftOut}`, () => {
  const emptyDatabase = databasePool(() => mongo!);

  /** Reads a page of the pets from 1 to 8. */
  async function page(damage: Damage, limit: number, after: number) {
    const { url, db } = await emptyDatabase();
    const documents = range(1, 8).map((id) => ({ _id: BigInt(id), ...sold, ...damage[id] }));
    await db.collection<{ _id: bigint }>('pets').insertMany(documents, { bypassDocumentValidation: true });
    const { client } = await openClient(url);
    return new PetReader(client.db()).page({ status: 'sold', after: BigInt(after), limit });
  }
  const pets = (...ids: number[]) => ids.map((id) => ({ id: BigInt(id), ...sold }));

  it('keeps no reference to its query, not even if the query fails', async () => {
    const { url } = await emptyDatabase();
    const { client } = await openClient(url);
    const reader = new PetReader(client.db());
    const read = async (limit: number, status: string) => {
      const query = { status: 'sold', after: 0n, limit } as const;
      expect(await Promise.allSettled([reader.page(query)])).toMatchObject([{ status }]);
      return new WeakRef(query);
    };
    const queries = [await read(10, 'fulfilled'), await read(-1, 'rejected')];
    const isKept = () => {
      collectGarbage();
      return queries.some((query) => query.deref() !== undefined);
    };

    await expect.poll(isKept).toBe(false);
    // Still in use.
    expect(await reader.page({ after: 0n, limit: 10 })).toStrictEqual([]);
  });

  it.each<readonly [string, Damage, number, number, number[]]>([
    ['before that pet', NO_STATUS, 2, 0, [1, 2]],
    ['up to that pet', NO_STATUS, 3, 0, [1, 2, 3]],
    ['after that pet', NO_STATUS, 10, 4, range(5, 8)],
    ['up to a damaged last pet', { 8: { status: 'gone' } }, 7, 0, range(1, 7)],
  ])('does not fail for a pet without a status: a page %s', async (_, damage, limit, after, ids) => {
    expect(await page(damage, limit, after)).toStrictEqual(pets(...ids));
  });

  it.each<readonly [string, Damage, number, number, [number, string, number[]]]>([
    ['is passed', NO_STATUS, 4, 0, [4, STATUS, [1, 2, 3]]],
    ['would be first', NO_STATUS, 1, 3, [4, STATUS, []]],
    ['may be part of a page that is not full', NO_STATUS, 10, 0, [4, STATUS, [1, 2, 3]]],
    ['is the last one', { 8: { status: 'gone' } }, 8, 0, [8, STATUS, range(1, 7)]],
    ['is the first of two', { 2: { status: 'z' }, 4: { status: 'a' } }, 10, 0, [2, STATUS, [1]]],
    ['comes before a damaged one', { ...NO_STATUS, 6: { name: 7 } }, 10, 0, [4, STATUS, [1, 2, 3]]],
    ['comes after a damaged one', { ...NO_STATUS, 2: { name: 7 } }, 10, 0, [2, NAME, [1]]],
  ])('ends where a pet without a status %s', async (_, damage, limit, after, [id, problem, before]) => {
    await expect(page(damage, limit, after)).rejects.toMatchObject({
      kind: 'damaged-pet',
      id: BigInt(id),
      problem,
      before: pets(...before),
    });
  });
});
