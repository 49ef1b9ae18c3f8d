import { setTimeout as sleep } from 'node:timers/promises';
import { BSON, type Db, type Document, Double, Long, MongoClient, UUID } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/adapters/mongodb/migrate.ts';
import { startMongo, type TestMongo } from '../../test/support/mongodb.ts';
import { numbers } from '../../test/support/numbers.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { noMongo, mongo } from '../../test/support/shared-mongo.ts';
import { MongoClientModel } from './mongo-client-model.ts';
import { ReplicaSet } from './replica-set.ts';
import { Simulation } from './simulation.ts';

// The simulation runs the adapter on a model of MongoDB. This test sends the same commands to the model and to a real
// server. If the replies differ, the model is wrong, and the results of the simulation prove nothing.

/** How many commands each test sends. */
const COMMAND_COUNT = 150;

/** The numbers of different ids and of different idempotency keys. They are small, so many documents collide. */
const [ID_COUNT, KEY_COUNT] = [12, 5];

/** A model that never fails. */
class ModelWithoutFaults {
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

  /** Begins a new term of the primary. */
  async stepDown(): Promise<void> {
    this.#set.electOnce();
    await this.#simulation.run();
  }
}

describe.skipIf(mongo === undefined)(`the model of MongoDB${noMongo}`, () => {
  let server: TestMongo & { readonly stop: () => Promise<void> };
  let client: MongoClient;
  let db: Db;
  const model = new ModelWithoutFaults();
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

  it('answers ordered inserts and reads like a real server', () => expectEqualAnswers(COMMAND_COUNT));

  it('keeps its documents over a step-down, and then still answers ordered inserts and reads like a real server', async () => {
    const helloBefore = await hello(db);
    await Promise.all([model.stepDown(), stepDown(client)]);
    const helloAfter = await hello(db);
    // In the model, two terms differ only in the election id, so a real server must change it.
    expect(helloAfter['electionId']).not.toStrictEqual(helloBefore['electionId']);
    await expectEqualAnswers(COMMAND_COUNT);
  });
});

function randomCommand(random: SeededRandom): (db: Db) => Promise<unknown> {
  const id = () => Long.fromNumber(random.integer(1, ID_COUNT));
  const limit = random.integer(1, ID_COUNT);
  const range = { $gt: id(), $lte: id(), $type: 'long' };
  return random.pick([
    insert(numbers(random.integer(1, 4)).map(() => aPet(random, id()))),
    insert(numbers(random.integer(1, 4)).map(() => aPet(random, id()))),
    insert([{ _id: new Double(random.integer(1, ID_COUNT)), upTo: id() }]),
    find({ _id: range }, { sort: { _id: 1 }, limit }),
    find({ status: 'sold', _id: range }, { sort: { _id: 1 }, limit }),
    find({ _id: id() }, {}),
    find({ _id: { $in: [id(), id(), id()] } }, {}),
    findOne({ _id: { $gte: Long.ONE, $lte: id() } }, { sort: { _id: -1 } }),
    findOne({ 'idem.k': `key ${random.integer(1, KEY_COUNT)}` }, {}),
  ]);
}

function aPet(random: SeededRandom, _id: Long): Document {
  const key = random.integer(1, KEY_COUNT);
  const op = new UUID(Buffer.from(numbers(16).map(() => random.below(256))));
  const status = random.pick(['available', 'pending', 'sold']);
  const idem = random.chance(0.5) && { idem: { k: `key ${key}`, fp: 'fingerprint' } };
  return { _id, name: `pet ${random.below(1_000)}`, categoryId: Long.MAX_VALUE, status, op, ...idem };
}

/** An insert command. Its result has the parts of the reply that the adapter reads. */
function insert(documents: readonly Document[]) {
  const writeConcern = { w: 'majority', j: true, wtimeout: 5_000 };
  // Here the keys are shorter than the validator of the collection allows. The validator has its own tests.
  const command = { insert: 'pets', documents, ordered: true, writeConcern, bypassDocumentValidation: true };
  return async (db: Db): Promise<unknown> => {
    const { n, writeErrors = [] } = await db.command(command);
    const errors = (writeErrors as readonly Document[]).map(({ index, code, keyPattern }) => {
      return { index: Number(index), code: Number(code), keyPattern: toText(keyPattern as Document) };
    });
    return { n: Number(n), errors };
  };
}

function find(filter: Document, options: Document) {
  const command = { find: 'pets', filter, ...options, singleBatch: true, readConcern: { level: 'majority' } };
  return async (db: Db): Promise<unknown> => {
    const { cursor } = await db.command(command, { fieldsAsRaw: { firstBatch: true } });
    const documents = (cursor as { readonly firstBatch: readonly Uint8Array[] }).firstBatch;
    const found = documents.map((bytes) => toText(BSON.deserialize(bytes, { promoteValues: false })));
    // Without a sort, the server may return any order.
    return 'sort' in options ? found : found.toSorted((a, b) => (a < b ? -1 : 1));
  };
}

function findOne(filter: Document, options: Document) {
  return async (db: Db): Promise<unknown> => {
    const found = await db.collection('pets').findOne(filter, { readConcern: 'majority', ...options });
    return found && toText(found);
  };
}

/** A text with the fields of a document and their BSON types. */
function toText(document: Document): string {
  return BSON.EJSON.stringify(document, { relaxed: false });
}

function hello(db: Db): Promise<Document> {
  return db.admin().command({ hello: 1 });
}

/** Lets the only member step down, and waits until it is the primary a second time. */
async function stepDown(client: MongoClient): Promise<void> {
  await client.db('admin').command({ replSetStepDown: 1, force: true });
  while ((await hello(client.db()))['isWritablePrimary'] !== true) await sleep(50);
}
