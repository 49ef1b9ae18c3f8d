import { EventEmitter } from 'node:events';
import { type Db, type Document, Long, MongoNetworkError, MongoServerError } from 'mongodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { IDEMPOTENCY_INDEX } from '../../../src/adapters/mongodb/schema/collection-plans.ts';
import { PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID, newPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const once = idempotencyFor('a');
const duplicate = (field: string) =>
  new MongoServerError({ message: `duplicate ${field}`, code: 11_000, keyPattern: { [field]: 1 } });
const { name, key, options } = IDEMPOTENCY_INDEX;
const INDEX = { v: 2, name, key, ...options };

/** The documents of each insert. */
let sent: Document[][];
let raises: number;
beforeEach(() => {
  sent = [];
  raises = 0;
});

type Server = {
  /** The last allocated id. Default: 0. */
  readonly last?: bigint;
  /** Its answer to each look at the indexes. Default: the index of idempotency keys. */
  readonly indexes?: () => readonly Document[];
  /** Refuses an insert. Default: accepts all. */
  readonly refuse?: (documents: readonly Document[]) => Error | undefined;
  /** What a majority has with an id. Default: nothing. */
  readonly withId?: (document: Document) => Document | null;
  /** What a majority has with an idempotency key. Default: nothing. */
  readonly withKey?: (key: string) => Document | null;
};

function repositoryOn(server: Server): MongoPetRepository {
  let last = server.last ?? 0n;
  const insert = async (...documents: Document[]) => {
    sent.push(documents);
    const error = server.refuse?.(documents);
    if (error !== undefined) throw error;
  };
  const collections: Readonly<Record<string, object>> = {
    counters: {
      async findOneAndUpdate(_: unknown, { $inc }: Document) {
        const next = last + ($inc.last as Long).toBigInt();
        if (next > MAX_PET_ID) return null;
        last = next;
        return { last: Long.fromBigInt(last) };
      },
      findOne: async () => ({ last: Long.fromBigInt(last) }),
      updateOne: async () => void raises++,
    },
    pets: {
      insertOne: insert,
      insertMany: (documents: Document[]) => insert(...documents),
      findOne: async ({ _id, 'idem.k': k }: Document) =>
        (_id === undefined ? server.withKey?.(k) : server.withId?.(sent.at(-1)![0]!)) ?? null,
    },
  };
  const db = {
    client: new EventEmitter(),
    collection: (collection: string) => collections[collection],
    command: async () => ({ cursor: { firstBatch: server.indexes?.() ?? [INDEX] } }),
  } as unknown as Db;
  return new MongoPetRepository(db, new ConfirmedReads(db));
}

const stored = (_id: unknown) => ({
  _id,
  ...rex,
  categoryId: Long.fromBigInt(rex.categoryId),
  idem: { k: once.key, fp: once.fingerprint },
});

describe('an insert into MongoDB', () => {
  it('gives up after five ids that other pets have, each taken after the counter was raised', async () => {
    const pets = repositoryOn({
      refuse: () => duplicate('_id'),
      withId: (document) => ({ ...document, op: undefined }),
    });

    await expect(pets.insert(rex)).rejects.toThrow(
      new StorageUnavailable('5 allocated ids in a row were already in use'),
    );
    expect(sent.flat().map(({ _id }) => String(_id))).toStrictEqual(['1', '2', '3', '4', '5']);
    expect(raises).toBe(4);
  });

  it('waits for the pet of an earlier attempt to be durable, under the same id', async () => {
    let misses = 2;
    const pets = repositoryOn({
      refuse: () => duplicate('_id'),
      withId: (document) => (misses-- > 0 ? null : document),
    });

    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
    expect(sent).toStrictEqual([sent[0], sent[0], sent[0]]);
  });

  it('sends a batch again that failed as a whole', async () => {
    let failures = 1;
    const pets = repositoryOn({
      refuse: ({ length }) => (length > 1 && failures-- > 0 ? new MongoNetworkError('reset') : undefined),
    });

    const inserted = await Promise.all([pets.insert(rex), pets.insert(rex), pets.insert(rex)]);

    expect(inserted.map(({ id }) => id)).toStrictEqual([1n, 2n, 3n]);
    const [first, batch, ...again] = sent;
    expect([first!.length, batch!.length]).toStrictEqual([1, 2]);
    expect(new Set(again.flat())).toStrictEqual(new Set(batch));
  });
});

describe('an idempotent insert into MongoDB', () => {
  it('rejects with the error of any other index, even if its key has a pet', async () => {
    const error = duplicate('name');
    const pets = repositoryOn({ refuse: () => error, withKey: () => stored(Long.ONE) });

    await expect(pets.insertOnce(rex, once)).rejects.toBe(error);
  });

  it.each([
    ['another key', { k: 'another', fp: once.fingerprint }],
    ['no key', undefined],
  ])('takes another id if a pet with %s has the first one', async (_, idem) => {
    const pets = repositoryOn({
      refuse: ([document]) => (document!['_id'].equals(1) ? duplicate('_id') : undefined),
      withId: () => ({ ...stored(Long.ONE), idem }),
    });

    expect(await pets.insertOnce(rex, once)).toStrictEqual({ pet: { id: 2n, ...rex }, replayed: false });
  });

  it('is refused while the index is missing that allows one pet per key', async () => {
    const answers = [[], [INDEX]];
    const pets = repositoryOn({ indexes: () => answers.shift() ?? [] });

    await expect(pets.insertOnce(rex, once)).rejects.toThrow(
      new StorageUnavailable('the collection "pets" lacks the index "idem.k_1"; migrate the database again'),
    );
    expect(sent).toStrictEqual([]);
    // The next one looks again, and finds it.
    expect(await pets.insertOnce(rex, once)).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
  });

  it('looks again if the connection is lost while it looks at the indexes', async () => {
    let failures = 1;
    const pets = repositoryOn({
      indexes() {
        if (failures-- > 0) throw new MongoNetworkError('reset');
        return [INDEX];
      },
    });

    expect(await pets.insertOnce(rex, once)).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
  });

  it('replays no document that is not a pet', async () => {
    const pets = repositoryOn({ refuse: () => duplicate('idem.k'), withKey: () => stored('a') });

    await expect(pets.insertOnce(rex, once)).rejects.toThrow(
      new StorageUnavailable('the document with the idempotency key is not a pet'),
    );
  });

  it('finds its pet when no id is left, even if a deposed primary misses it at first', async () => {
    const answers = [null, null, stored(Long.ONE)];
    const pets = repositoryOn({ last: MAX_PET_ID, withKey: () => answers.shift() ?? null });

    // The first read confirms the primary before.
    await expect(pets.insertOnce(rex, once)).rejects.toThrow(PetIdsExhausted);
    expect(await pets.insertOnce(rex, once)).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: true });

    // A pet that it finds needs no second read.
    answers.push(stored(Long.ONE), null);
    expect(await pets.insertOnce(rex, once)).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: true });
    expect(answers).toStrictEqual([null]);
  });
});
