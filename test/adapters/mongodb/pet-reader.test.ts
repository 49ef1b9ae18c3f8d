import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { PetReader } from '../../../src/adapters/mongodb/pet-reader.ts';
import { collectGarbage } from '../../support/collect-garbage.ts';
import { databasePool, openClient } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';
import { aPet } from '../../support/pets.ts';

const STATUS_PROBLEM = 'status must be one of available, pending, sold';
const NAME_PROBLEM = 'name must be a string';
const soldPet = aPet({ status: 'sold' });
const range = (first: number, last: number) => numbers(last - first + 1).map((n) => first + n);

/** The damaged fields of each damaged pet, by the id of the pet. */
type Damage = Readonly<Record<number, Document>>;
/** The pet 4 has a status that does not exist. */
const BAD_PET_4: Damage = { 4: { status: 'gone' } };

describe.skipIf(mongo === undefined)(`a page of the sold pets in MongoDB${noMongo}`, () => {
  const emptyDatabase = databasePool(() => mongo!);

  /** Stores the sold pets from 1 to 8, and reads a page of them. */
  async function readPage(damage: Damage, limit: number, after: number) {
    const { url, db } = await emptyDatabase();
    const documents = range(1, 8).map((id) => ({ _id: BigInt(id), ...soldPet, ...damage[id] }));
    await db.collection<{ _id: bigint }>('pets').insertMany(documents, { bypassDocumentValidation: true });
    const { client } = await openClient(url);
    return new PetReader(client.db()).page({ status: 'sold', after: BigInt(after), limit });
  }
  const soldPets = (...ids: number[]) => ids.map((id) => ({ id: BigInt(id), ...soldPet }));

  it('keeps no reference to its query, whether the query succeeds or fails', async () => {
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
    // This call keeps the reader alive during the check. If the reader were garbage, its queries would be garbage too.
    expect(await reader.page({ after: 0n, limit: 10 })).toStrictEqual([]);
  });

  it.each<readonly [position: string, Damage, limit: number, after: number, ids: number[]]>([
    ['ends two ids before that pet', BAD_PET_4, 2, 0, [1, 2]],
    ['ends right before that pet', BAD_PET_4, 3, 0, [1, 2, 3]],
    ['begins after that pet', BAD_PET_4, 10, 4, range(5, 8)],
    ['ends right before that pet, which is the last pet', { 8: { status: 'gone' } }, 7, 0, range(1, 7)],
  ])('succeeds although a pet has an unknown status: the page %s', async (_, damage, limit, after, ids) => {
    expect(await readPage(damage, limit, after)).toStrictEqual(soldPets(...ids));
  });

  // Each row ends with the expected error: the id of the first damaged pet, its problem, and the ids of the sold pets
  // before it.
  it.each<readonly [string, Damage, limit: number, after: number, error: [number, string, number[]]]>([
    ['is between two pets of the page', BAD_PET_4, 4, 0, [4, STATUS_PROBLEM, [1, 2, 3]]],
    ['is before the only pet of the page', BAD_PET_4, 1, 3, [4, STATUS_PROBLEM, []]],
    ['is in a page that is not full', BAD_PET_4, 10, 0, [4, STATUS_PROBLEM, [1, 2, 3]]],
    ['is the last pet of all', { 8: { status: 'gone' } }, 8, 0, [8, STATUS_PROBLEM, range(1, 7)]],
    ['is one of two such pets', { 2: { status: 'z' }, 4: { status: 'a' } }, 10, 0, [2, STATUS_PROBLEM, [1]]],
    ['is before a damaged name', { ...BAD_PET_4, 6: { name: 7 } }, 10, 0, [4, STATUS_PROBLEM, [1, 2, 3]]],
    ['is after a damaged name', { ...BAD_PET_4, 2: { name: 7 } }, 10, 0, [2, NAME_PROBLEM, [1]]],
  ])('fails if a pet of unknown status %s', async (_, damage, limit, after, [id, problem, idsBefore]) => {
    await expect(readPage(damage, limit, after)).rejects.toMatchObject({
      kind: 'damaged-pet',
      id: BigInt(id),
      problem,
      before: soldPets(...idsBefore),
    });
  });
});
