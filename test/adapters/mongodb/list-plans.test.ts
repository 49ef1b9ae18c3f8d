import type { Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { databasePool, openRepository } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const COUNT = 3_000;
const emptyDatabase = databasePool(() => mongo!);

describe.skipIf(mongo === undefined)(`a page of the list in MongoDB${leftOut}`, () => {
  const LIMIT = 20;
  const middle = BigInt(COUNT / 2);

  it.each<{ what: string; query: PetQuery }>([
    { what: 'the first page', query: { limit: LIMIT } },
    { what: 'a deep page', query: { limit: LIMIT, after: middle } },
    { what: 'the first page with a common status', query: { limit: LIMIT, status: 'available' } },
    {
      what: 'a deep page with a common status',
      query: { limit: LIMIT, status: 'available', after: middle },
    },
    { what: 'the first page with a rare status', query: { limit: LIMIT, status: 'sold' } },
    { what: 'a deep page with a rare status', query: { limit: LIMIT, status: 'sold', after: middle } },
    { what: 'a status that no pet has', query: { limit: LIMIT, status: 'pending' } },
    { what: 'no more pets', query: { limit: LIMIT, status: 'available', after: BigInt(COUNT) } },
  ])('takes one round trip, no sort, and examines no other pets: $what', async ({ query }) => {
    const { url, db, pets } = await emptyDatabase();
    await pets.insertMany(
      Array.from({ length: COUNT }, (_, n) => ({
        _id: BigInt(n + 1),
        name: 'Rex',
        categoryId: 7n,
        status: n % 100 === 99 ? 'sold' : 'available',
      })),
    );
    const { repository, client } = await openRepository(url);
    const sent: Document[] = [];
    client.on('commandStarted', ({ command }) => sent.push(command));

    const page = await repository.list(query);

    const [first, ...searches] = sent;
    expect(sent.map((command) => Object.keys(command)[0])).toStrictEqual(sent.map(() => 'find'));
    // At most once a second, a list with a status looks for pets that no such list has.
    expect(searches).toHaveLength(query.status === undefined ? 0 : 1);
    for (const { find, filter, sort, projection, limit, hint } of searches) {
      const search = { find, filter, sort, projection, limit, hint };
      const { executionStats } = await db.command({ explain: search, verbosity: 'executionStats' });
      expect(executionStats.totalDocsExamined).toBe(0);
      // One step to the end of each status.
      expect(executionStats.totalKeysExamined).toBeLessThanOrEqual(4);
    }
    const { find, filter, sort, projection, limit, hint, batchSize, singleBatch } = first!;
    const { executionStats, queryPlanner } = await db.command({
      explain: {
        find,
        filter,
        sort,
        projection,
        limit,
        batchSize,
        singleBatch,
        ...(hint !== undefined && { hint }),
      },
      verbosity: 'executionStats',
    });
    expect(executionStats).toMatchObject({ executionSuccess: true, nReturned: page.length });
    expect(executionStats.totalDocsExamined).toBeLessThanOrEqual(LIMIT);
    // One more key ends the range.
    expect(executionStats.totalKeysExamined).toBeLessThanOrEqual(LIMIT + 1);
    // With one candidate, the plan does not depend on trials or on the plan cache.
    expect(queryPlanner.rejectedPlans).toStrictEqual([]);
    expect(JSON.stringify(queryPlanner.winningPlan)).not.toMatch(/"stage":"(SORT|COLLSCAN)"/);
  });
});
