import type { Db, Document } from 'mongodb';
import { expect, it } from 'vitest';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { databasePool, openRepository, type TestDatabase } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

const COUNT = 3_000;
const emptyDatabase = databasePool(() => mongo!);

const LIMIT = 20;
const MIDDLE_ID = BigInt(COUNT / 2);

/** Pages of {@link COUNT} pets. One pet in a hundred is sold, and the other pets are available. */
const QUERIES: Readonly<Record<string, PetQuery>> = {
  'the first page': { limit: LIMIT },
  'a page in the middle': { limit: LIMIT, after: MIDDLE_ID },
  'a page in the middle with a common status': { limit: LIMIT, status: 'available', after: MIDDLE_ID },
  'a page in the middle with a rare status': { limit: LIMIT, status: 'sold', after: MIDDLE_ID },
  'a page with a status that no pet has': { limit: LIMIT, status: 'pending' },
  'a page after the last pet': { limit: LIMIT, status: 'available', after: BigInt(COUNT) },
};

it.skipIf(mongo === undefined)(
  `one query without a sort reads a page of pets in MongoDB, and examines at most as many pets as the page can have${noMongo}`,
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
    for (const [title, query] of Object.entries(QUERIES)) await expectCheapPage(database, query, title);
  },
);

async function expectCheapPage({ url, db }: TestDatabase, query: PetQuery, title: string): Promise<void> {
  const { repository, client } = await openRepository(url);
  const sentCommands: Document[] = [];
  client.on('commandStarted', ({ command }) => sentCommands.push(command));

  const page = await repository.list(query);

  const [pageCommand, ...searches] = sentCommands;
  expect(
    sentCommands.map((command) => Object.keys(command)[0]),
    title,
  ).toStrictEqual(sentCommands.map(() => 'find'));
  // A page with a status also searches, at most once per second, for damaged pets: pets that have no valid status.
  expect(searches, title).toHaveLength(query.status === undefined ? 0 : 1);
  for (const search of searches) {
    const { executionStats } = await explain(db, search);
    expect(executionStats.totalDocsExamined, title).toBe(0);
    // The search skips all pets of a valid status in one step in the index. There are three valid statuses.
    expect(executionStats.totalKeysExamined, title).toBeLessThanOrEqual(4);
  }
  const { executionStats, queryPlanner } = await explain(db, pageCommand!);
  expect(executionStats, title).toMatchObject({ executionSuccess: true, nReturned: page.length });
  expect(executionStats.totalDocsExamined, title).toBeLessThanOrEqual(LIMIT);
  // The server may examine one key after the last pet, which shows that the range has ended.
  expect(executionStats.totalKeysExamined, title).toBeLessThanOrEqual(LIMIT + 1);
  // There is only one possible plan. The server therefore needs no trial run and no plan cache to choose a plan.
  expect(queryPlanner.rejectedPlans, title).toStrictEqual([]);
  expect(JSON.stringify(queryPlanner.winningPlan), title).not.toMatch(/"stage":"(SORT|COLLSCAN)"/);
}

/** Asks the server for the plan of a command. The fields that the driver adds for a session are removed. */
function explain(db: Db, { lsid: _1, $clusterTime: _2, $db: _3, readConcern: _4, ...command }: Document) {
  return db.command({ explain: command, verbosity: 'executionStats' });
}
