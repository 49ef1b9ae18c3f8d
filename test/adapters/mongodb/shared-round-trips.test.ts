import { once } from 'node:events';
import { connect } from 'node:net';
import { BSON, Long } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import type { PetQuery } from '../../../src/application/ports/pet-repository.ts';
import { addressOf, databasePool, openRepository, type TestDatabase } from '../../support/mongo-database.ts';
import { noMongo, mongo } from '../../support/shared-mongo.ts';
import { numbers } from '../../support/numbers.ts';
import { rex } from '../../support/pets.ts';

const emptyDatabase = databasePool(() => mongo!);

/** Stores pets with the ids from 1 to `count`, and opens a repository. */
async function openWithPets(count: number) {
  const database = await emptyDatabase();
  const stored = numbers(count).map((n) => ({ id: BigInt(n + 1), ...rex, name: `pet ${n}` }));
  await database.pets.insertMany(stored.map(({ id, ...pet }) => ({ _id: id, ...pet })));
  return { database, stored, ...(await openRepository(database.url)) };
}

/** Stores a pet whose name is not UTF-8. No driver sends such a name, so this function writes to a socket. */
async function storeInvalidText({ url, db }: TestDatabase, id: bigint): Promise<void> {
  const { host, port } = addressOf(url);
  const pet = { _id: Long.fromBigInt(id), name: 'R~x', categoryId: Long.fromNumber(7), status: 'available' };
  const command = Buffer.from(BSON.serialize({ insert: 'pets', documents: [pet], $db: db.databaseName }));
  command[command.indexOf('R~x') + 1] = 0xff;
  // https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#op_msg
  const header = Buffer.alloc(21);
  header.writeInt32LE(header.length + command.length, 0);
  header.writeInt32LE(2013, 12);
  const socket = connect(port, host);
  socket.end(Buffer.concat([header, command]));
  await once(socket, 'data');
  socket.destroy();
}

describe.skipIf(mongo === undefined)(`pets that are looked up at the same time in MongoDB${noMongo}`, () => {
  it('take one command for 200 calls, and each call returns the pet that it requested', async () => {
    // Without a batch size, the server would end the reply after 101 documents.
    const { stored, repository, sent } = await openWithPets(150);

    const requestedPets = [...stored, ...stored.slice(0, 50)];
    const foundPets = await Promise.all(requestedPets.map(({ id }) => repository.findById(id)));

    expect(foundPets).toStrictEqual(requestedPets);
    expect([sent('find'), sent('getMore'), sent('killCursors')]).toStrictEqual([1, 0, 0]);
  });

  it('are found even if other pets of the same command are missing or damaged, and a damaged pet rejects only the calls for this pet', async () => {
    const { database, stored, repository, sent } = await openWithPets(5);
    await database.pets.updateOne(
      { _id: 2n },
      { $set: { status: 'sole' } },
      { bypassDocumentValidation: true },
    );
    await database.pets.deleteOne({ _id: 4n });
    await storeInvalidText(database, 4n);

    const outcomes = await Promise.allSettled(
      [1n, 2n, 3n, 4n, 5n, 2n, 6n, -1n, 0n, 2n ** 63n - 1n].map((id) => repository.findById(id)),
    );

    const damagedStatus = new DamagedPet(2n, 'status must be one of available, pending, sold');
    expect(outcomes).toStrictEqual([
      { status: 'fulfilled', value: stored[0] },
      { status: 'rejected', reason: damagedStatus },
      { status: 'fulfilled', value: stored[2] },
      { status: 'rejected', reason: new DamagedPet(4n, 'text must be UTF-8') },
      { status: 'fulfilled', value: stored[4] },
      { status: 'rejected', reason: damagedStatus },
      ...numbers(4).map(() => ({ status: 'fulfilled', value: undefined })),
    ]);
    // The first find misses some ids. A second find confirms the primary, and a third find looks up these ids again.
    expect(sent('find')).toBe(3);
  });
});

describe.skipIf(mongo === undefined)(`lists that are requested at the same time in MongoDB${noMongo}`, () => {
  it('share a command exactly if their queries are identical', async () => {
    const { stored, repository, sent } = await openWithPets(30);

    const withoutStatus = [{ limit: 10 }, { limit: 11 }, { limit: 10, after: 5n }] as const;
    const queries = [
      ...withoutStatus,
      ...withoutStatus.map((query) => ({ ...query, status: 'available' as const })),
    ];
    const requests = numbers(60).map((n) => queries[n % queries.length]!);
    const pages = await Promise.all(requests.map((query) => repository.list(query)));

    expect(pages).toStrictEqual(
      requests.map((query) => {
        const { limit, after = 0n }: PetQuery = query;
        return stored.slice(Number(after), Number(after) + limit);
      }),
    );
    // One further find searches for pets whose status is damaged.
    expect(sent('find')).toBe(queries.length + 1);
  });

  it('fail for every caller whose list has a damaged pet, and for no other caller', async () => {
    const { database, stored, repository } = await openWithPets(4);
    await database.pets.deleteOne({ _id: 3n });
    await storeInvalidText(database, 3n);

    const queries = [{ limit: 2 }, { limit: 3 }, { limit: 3 }, { limit: 9, after: 3n }];
    const outcomes = await Promise.allSettled(queries.map((query) => repository.list(query)));

    const reason = { kind: 'damaged-pet', id: 3n, problem: 'text must be UTF-8', before: stored.slice(0, 2) };
    expect(outcomes).toMatchObject([
      { status: 'fulfilled', value: stored.slice(0, 2) },
      { status: 'rejected', reason },
      { status: 'rejected', reason },
      { status: 'fulfilled', value: stored.slice(3) },
    ]);
  });
});
