import { setTimeout as sleep } from 'node:timers/promises';
import { BSON, type Db, type Document, Double, Long, MongoClient, UUID } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { startMongo, type TestMongo } from '../../test/support/mongodb.ts';
import { numbers } from '../../test/support/numbers.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { leftOut, mongo } from '../../test/support/shared-mongo.ts';
import { MongoClientModel } from './mongo-client-model.ts';
import { ReplicaSet } from './replica-set.ts';
import { Simulation } from './simulation.ts';

// The simulation checks the program against a model of MongoDB. Here the same commands go to the model and to a server.
// Where the replies differ, the model is wrong, and what the simulation has shown with it is in doubt.

/** How many commands each half of the test sends. */
const COMMANDS = 150;

/** Few ids and keys, so that many documents collide. */
const [IDS, KEYS] = [12, 5];

/** A model without faults, which answers each command at once. */
class AnsweringModel {
  readonly #simulation = new Simulation(new SeededRandom(1));
  readonly #set = new ReplicaSet(this.#simulation, undefined);
  readonly #client = new MongoClientModel(this.#set);

  constructor() {
    this.#simulation.calm();
  }

  async answer(send: (db: Db) => Promise<unknown>): Promise<unknown> {
    const answer = send(this.#client.db);
    await this.#simulation.run();
    return answer;
  }

  /** Another term of the same process begins. */
  async stepDown(): Promise<void> {
    this.#set.electOnce();
    await this.#simulation.run();
  }
}

describe.skipIf(mongo === undefined)(`the model of MongoDB${leftOut}`, () => {
  let server: TestMongo & { readonly stop: () => Promise<void> };
  let client: MongoClient;
  let db: Db;
  const model = new AnsweringModel();
  const random = new SeededRandom(45);

  beforeAll(async () => {
    server = await startMongo();
    const url = server.url('petstore');
    await migrate(url);
    client = await new MongoClient(url, { promoteValues: false }).connect();
    db = client.db();
  });
  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  async function expectEqualAnswers(commands: number): Promise<void> {
    for (const _ of numbers(commands)) {
      const send = randomCommand(random);
      expect(await model.answer(send)).toStrictEqual(await send(db));
    }
  }

  it('answers ordered inserts and reads as a server does', () => expectEqualAnswers(COMMANDS));

  it('answers them so after a step-down too, and keeps what was stored', async () => {
    const before = await hello(db);
    await Promise.all([model.stepDown(), stepDown(client)]);
    const after = await hello(db);
    // The model tells terms apart by the election id alone.
    expect(after['electionId']).not.toStrictEqual(before['electionId']);
    await expectEqualAnswers(COMMANDS);
  });
});

function randomCommand(random: SeededRandom): (db: Db) => Promise<unknown> {
  const id = () => Long.fromNumber(random.integer(1, IDS));
  const limit = random.integer(1, IDS);
  const range = { $gt: id(), $lte: id(), $type: 'long' };
  return random.pick([
    insert(numbers(random.integer(1, 4)).map(() => aPet(random, id()))),
    insert(numbers(random.integer(1, 4)).map(() => aPet(random, id()))),
    insert([{ _id: new Double(random.integer(1, IDS)), upTo: id() }]),
    find({ _id: range }, { sort: { _id: 1 }, limit }),
    find({ status: 'sold', _id: range }, { sort: { _id: 1 }, limit }),
    find({ _id: id() }, {}),
    find({ _id: { $in: [id(), id(), id()] } }, {}),
    findOne({ _id: { $gte: Long.ONE, $lte: id() } }, { sort: { _id: -1 } }),
    findOne({ 'idem.k': `key ${random.integer(1, KEYS)}` }, {}),
  ]);
}

function aPet(random: SeededRandom, _id: Long): Document {
  const key = random.integer(1, KEYS);
  const op = new UUID(Buffer.from(numbers(16).map(() => random.below(256))));
  const status = random.pick(['available', 'pending', 'sold']);
  const idem = random.chance(0.5) && { idem: { k: `key ${key}`, fp: 'fingerprint' } };
  return { _id, name: `pet ${random.below(1_000)}`, categoryId: Long.MAX_VALUE, status, op, ...idem };
}

/** What the adapter reads of the reply. */
function insert(documents: readonly Document[]) {
  const writeConcern = { w: 'majority', j: true, wtimeout: 5_000 };
  // The validator of the collection has its own tests. Keys here are short.
  const command = { insert: 'pets', documents, ordered: true, writeConcern, bypassDocumentValidation: true };
  return async (db: Db): Promise<unknown> => {
    const { n, writeErrors = [] } = await db.command(command);
    const errors = (writeErrors as readonly Document[]).map(({ index, code, keyPattern }) => {
      return { index: Number(index), code: Number(code), keyPattern: plain(keyPattern as Document) };
    });
    return { n: Number(n), errors };
  };
}

function find(filter: Document, options: Document) {
  const command = { find: 'pets', filter, ...options, singleBatch: true, readConcern: { level: 'majority' } };
  return async (db: Db): Promise<unknown> => {
    const { cursor } = await db.command(command, { fieldsAsRaw: { firstBatch: true } });
    const documents = (cursor as { readonly firstBatch: readonly Uint8Array[] }).firstBatch;
    const found = documents.map((bytes) => plain(BSON.deserialize(bytes, { promoteValues: false })));
    // Without a sort, any order is right.
    return 'sort' in options ? found : found.toSorted((a, b) => (a < b ? -1 : 1));
  };
}

function findOne(filter: Document, options: Document) {
  return async (db: Db): Promise<unknown> => {
    const found = await db.collection('pets').findOne(filter, { readConcern: 'majority', ...options });
    return found && plain(found);
  };
}

/** A document with its types, as one text. */
function plain(document: Document): string {
  return BSON.EJSON.stringify(document, { relaxed: false });
}

function hello(db: Db): Promise<Document> {
  return db.admin().command({ hello: 1 });
}

/** The only member steps down, and is elected again. */
async function stepDown(client: MongoClient): Promise<void> {
  await client.db('admin').command({ replSetStepDown: 1, force: true });
  while ((await hello(client.db()))['isWritablePrimary'] !== true) await sleep(50);
}
