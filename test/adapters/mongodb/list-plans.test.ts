import type { Db, Document } from 'mongodb';
import { expect, it } from 'vitest';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { databasePool, openRepository, type TestDatabase } from '../../support/mongo-database.ts';
import { numbers } from '../../support/numbers.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';

const PET_COUNT = 3_000;
const emptyDatabase = databasePool(() => mongo!);

const PAGE_LIMIT = 20;
const MIDDLE_ID = BigInt(PET_COUNT / 2);

/** Pages of {@link PET_COUNT} pets. One pet in a hundred is sold, and the other pets are available. */
const QUERIES: Readonly<Record<string, PetQuery>> = {
  'the first page': { limit: PAGE_LIMIT },
  'a page in the middle': { limit: PAGE_LIMIT, after: MIDDLE_ID },
  'a page in the middle with a common status': { limit: PAGE_LIMIT, status: 'available', after: MIDDLE_ID },
  'a page in the middle with a rare status': { limit: PAGE_LIMIT, status: 'sold', after: MIDDLE_ID },
  'a page with a status that no pet has': { limit: PAGE_LIMIT, status: 'pending' },
  'a page after the last pet': { limit: PAGE_LIMIT, status: 'available', after: BigInt(PET_COUNT) },
};

it.skipIf(mongo === undefined)(
  `MongoDB reads a page of pets with one query and without a sort, and examines no more pets than the page can have${noMongo}`,
  async () => {
    const database = await emptyDatabase();
    await database.pets.insertMany(
      numbers(PET_COUNT).map((n) => ({
        _id: BigInt(n + 1),
        name: 'Rex',
        categoryId: 7n,
        status: n % 100 === 99 ? 'sold' : 'available',
      })),
    );
    for (const [title, query] of Object.entries(QUERIES)) await expectCheapPage(database, query, title);
  },
);

/** Reads a page, and expects that the server examines only the pets and the index keys that the page needs. */
async function expectCheapPage({ url, db }: TestDatabase, query: PetQuery, title: string): Promise<void> {
  const { repository, client } = await openRepository(url);
  const sentCommands: Document[] = [];
  client.on('commandStarted', ({ command }) => sentCommands.push(command));

  const page = await repository.list(query);

  const [pageCommand, ...statusSearches] = sentCommands;
  expect(
    sentCommands.map((command) => Object.keys(command)[0]),
    title,
  ).toStrictEqual(sentCommands.map(() => 'find'));
  // For a page of one status, the adapter also searches for pets whose status is damaged, at most once per second.
  expect(statusSearches, title).toHaveLength(query.status === undefined ? 0 : 1);
  for (const search of statusSearches) {
    const { executionStats } = await explain(db, search);
    expect(executionStats.totalDocsExamined, title).toBe(0);
    // In the index, the search skips all pets of a valid status in one step. There are three valid statuses, so the
    // search examines at most four index keys.
    expect(executionStats.totalKeysExamined, title).toBeLessThanOrEqual(4);
  }
  const { executionStats, queryPlanner } = await explain(db, pageCommand!);
  expect(executionStats, title).toMatchObject({ executionSuccess: true, nReturned: page.length });
  expect(executionStats.totalDocsExamined, title).toBeLessThanOrEqual(PAGE_LIMIT);
  // The server may also examine the index key after the last pet, to notice the end of the range.
  expect(executionStats.totalKeysExamined, title).toBeLessThanOrEqual(PAGE_LIMIT + 1);
  // There is only one possible plan. The server therefore needs no trial run and no plan cache to choose a plan.
  expect(queryPlanner.rejectedPlans, title).toStrictEqual([]);
  expect(JSON.stringify(queryPlanner.winningPlan), title).not.toMatch(/"stage":"(SORT|COLLSCAN)"/);
}

/** Asks the server for the plan of a command. The fields that the driver adds for a session are removed. */
function explain(db: Db, { lsid: _1, $clusterTime: _2, $db: _3, readConcern: _4, ...command }: Document) {
  return db.command({ explain: command, verbosity: 'executionStats' });
}
