import type { Db, Document } from 'mongodb';
import { expect, it } from 'vitest';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { databasePool, openRepository, type TestDatabase } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const COUNT = 3_000;
const emptyDatabase = databasePool(() => mongo!);

const LIMIT = 20;
const middle = BigInt(COUNT / 2);

const QUERIES: Readonly<Record<string, PetQuery>> = {
  'the first page': { limit: LIMIT },
  'a deep page': { limit: LIMIT, after: middle },
  'a deep page with a common status': { limit: LIMIT, status: 'available', after: middle },
  'a deep page with a rare status': { limit: LIMIT, status: 'sold', after: middle },
  'a status that no pet has': { limit: LIMIT, status: 'pending' },
  'no more pets': { limit: LIMIT, status: 'available', after: BigInt(COUNT) },
};

it.skipIf(mongo === undefined)(
  `a page of pets in MongoDB takes one round trip and no sort, and examines no other pets${leftOut}`,
  async () => {
    const database = await emptyDatabase();
    await database.pets.insertMany(
      numbers(COUNT).map((n) => ({
        _id: BigInt(n + 1),
        name: 'Rex',
        categoryId: 7n,
        status: n % 100 === 99 ? 'sold' : 'available',
      })),
    );
    for (const [what, query] of Object.entries(QUERIES)) await examine(database, query, what);
  },
);

async function examine({ url, db }: TestDatabase, query: PetQuery, what: string): Promise<void> {
  const { repository, client } = await openRepository(url);
  const sent: Document[] = [];
  client.on('commandStarted', ({ command }) => sent.push(command));

  const page = await repository.list(query);

  const [first, ...searches] = sent;
  expect(
    sent.map((command) => Object.keys(command)[0]),
    what,
  ).toStrictEqual(sent.map(() => 'find'));
  // At most once per second, a list with a status looks for pets that no such list has.
  expect(searches, what).toHaveLength(query.status === undefined ? 0 : 1);
  for (const search of searches) {
    const { executionStats } = await explained(db, search);
    expect(executionStats.totalDocsExamined, what).toBe(0);
    // One step to the end of each status.
    expect(executionStats.totalKeysExamined, what).toBeLessThanOrEqual(4);
  }
  const { executionStats, queryPlanner } = await explained(db, first!);
  expect(executionStats, what).toMatchObject({ executionSuccess: true, nReturned: page.length });
  expect(executionStats.totalDocsExamined, what).toBeLessThanOrEqual(LIMIT);
  // One more key ends the range.
  expect(executionStats.totalKeysExamined, what).toBeLessThanOrEqual(LIMIT + 1);
  // With one candidate, the plan does not depend on trials or on the plan cache.
  expect(queryPlanner.rejectedPlans, what).toStrictEqual([]);
  expect(JSON.stringify(queryPlanner.winningPlan), what).not.toMatch(/"stage":"(SORT|COLLSCAN)"/);
}

/** Explains the query of a command, without what the driver adds for a session. */
function explained(db: Db, { lsid: _1, $clusterTime: _2, $db: _3, readConcern: _4, ...explain }: Document) {
  return db.command({ explain, verbosity: 'executionStats' });
}
