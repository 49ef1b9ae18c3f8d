import { EventEmitter } from 'node:events';
import { type Db, type Document, Long, MongoServerError } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import { MongoPetRepository } from '../../../src/adapters/mongodb/pet-repository.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { newPet } from '../../../src/domain/pet.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const duplicate = (field: string) =>
  new MongoServerError({ message: `duplicate ${field}`, code: 11_000, keyPattern: { [field]: 1 } });

/** The documents that the server was sent. */
let sent: Document[];
let raises: number;
beforeEach(() => {
  sent = [];
  raises = 0;
});

/** A repository whose server refuses each insert with the error, and finds this afterwards. */
function repository(error: Error, existing: (document: Document) => Document | null): MongoPetRepository {
  let last = 0;
  const collections: Readonly<Record<string, object>> = {
    counters: {
      findOneAndUpdate: async () => ({ last: Long.fromNumber(++last) }),
      updateOne: async () => void raises++,
    },
    pets: {
      async insertOne(document: Document) {
        sent.push(document);
        throw error;
      },
      findOne: async ({ _id }: Document) => (_id instanceof Long ? existing(sent.at(-1)!) : null),
    },
  };
  const db = { client: new EventEmitter(), collection: (name: string) => collections[name] } as unknown as Db;
  return new MongoPetRepository(db, new ConfirmedReads(db));
}

it('gives up after five ids that other pets have, each taken after the counter was raised', async () => {
  const pets = repository(duplicate('_id'), (document) => ({ ...document, op: undefined }));

  await expect(pets.insert(rex)).rejects.toThrow(
    new StorageUnavailable('5 allocated ids in a row were already in use'),
  );
  expect(sent.map(({ _id }) => String(_id))).toStrictEqual(['1', '2', '3', '4', '5']);
  expect(raises).toBe(4);
});

it('waits for the pet of an earlier attempt to be durable, under the same id', async () => {
  let misses = 2;
  const pets = repository(duplicate('_id'), (document) => (misses-- > 0 ? null : document));

  expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  expect(sent).toStrictEqual([sent[0], sent[0], sent[0]]);
});

it('rejects with the error of any other index', async () => {
  const error = duplicate('name');
  await expect(repository(error, (document) => document).insert(rex)).rejects.toBe(error);
});
