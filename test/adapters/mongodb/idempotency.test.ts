import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { PetIdsExhausted } from '../../../src/application/pets/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { MAX_PET_ID, newPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { failCommand } from '../../support/fail-point.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import {
  addressOf,
  freshDatabase,
  openRepository,
  putFence,
  throughPort,
  withOptions,
} from '../../support/mongo-database.ts';
import { startMongo } from '../../support/mongodb.ts';
import { leftOut, mongo as shared } from '../../support/shared-mongo.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });

describe.skipIf(shared === undefined)(`an idempotent insert into MongoDB${leftOut}`, () => {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({ setParameters: { enableTestCommands: 1 } });
  });
  afterAll(() => mongo?.stop());

  it('stores the hashes in the document of the pet', async () => {
    const { url, pets } = await freshDatabase(mongo);
    const { repository } = await openRepository(url);

    await repository.insertOnce(rex, idempotencyFor('a'));

    const { key, fingerprint } = idempotencyFor('a');
    expect(await pets.findOne({})).toMatchObject({ _id: 1n, name: 'Rex', idem: { k: key, fp: fingerprint } });
  });

  it('is not a replay when it finds its own earlier attempt', async () => {
    const { url, pets } = await freshDatabase(mongo);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const throughProxy = withOptions(throughPort(url, proxy.port), { retryWrites: false });
    const { repository } = await openRepository(throughProxy);
    proxy.loseReplies('insert', 1);

    const inserted = await repository.insertOnce(rex, idempotencyFor('a'));

    expect(proxy.repliesToLose).toBe(0);
    expect(inserted).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
    expect(await pets.countDocuments()).toBe(1);
  });

  it('replays a pet whose insert succeeded without an answer', async () => {
    const { url, pets } = await freshDatabase(mongo);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const throughProxy = withOptions(throughPort(url, proxy.port), { retryWrites: false });
    const { repository: unlucky } = await openRepository(throughProxy, 500);
    proxy.loseReplies('insert', Number.POSITIVE_INFINITY);
    await expect(unlucky.insertOnce(rex, idempotencyFor('a'))).rejects.toThrow(StorageUnavailable);
    const { repository } = await openRepository(url);

    const again = await repository.insertOnce(rex, idempotencyFor('a'));

    expect(again).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: true });
    expect(await pets.countDocuments()).toBe(1);
  });

  it('does not wait long for an earlier one whose look at the indexes does not return', async () => {
    const { advance } = fakeClock();
    const { url } = await freshDatabase(mongo);
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    const { repository } = await openRepository(throughPort(url, proxy.port));
    const held = proxy.hold('listIndexes');
    const early = repository.insertOnce(rex, idempotencyFor('a'));
    const release = await held;
    advance(1_000);

    expect(await repository.insertOnce(rex, idempotencyFor('b'))).toMatchObject({ pet: { id: 1n } });
    release();
    expect(await early).toMatchObject({ pet: { id: 2n } });
  });

  it('looks again if the connection is lost while it looks at the indexes', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { repository } = await openRepository(withOptions(url, { retryReads: false }));
    await failCommand(db, 'listIndexes', { times: 1 }, { closeConnection: true });

    expect(await repository.insertOnce(rex, idempotencyFor('a'))).toMatchObject({ pet: { id: 1n } });
  });

  it('looks for its pet when no id is left, twice if a deposed primary may have missed it', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { repository, sent } = await openRepository(url);
    const { pet } = await repository.insertOnce(rex, idempotencyFor('a'));
    await putFence(db, 2n, MAX_PET_ID);
    await expect(repository.insert(rex)).rejects.toThrow(PetIdsExhausted);

    const before = sent('find');
    await expect(repository.insertOnce(rex, idempotencyFor('b'))).rejects.toThrow(PetIdsExhausted);
    // The second read follows a confirmation of the primary.
    expect(sent('find')).toBe(before + 3);
    expect(await repository.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
    expect(sent('find')).toBe(before + 4);
  });

  it('waits until the pet with its key is durable', async () => {
    const { url, db } = await freshDatabase(mongo);
    const { repository, sent } = await openRepository(url);
    const { pet } = await repository.insertOnce(rex, idempotencyFor('a'));
    // ReadConcernMajorityNotAvailableYet.
    await failCommand(db, 'find', { times: 2 }, { errorCode: 134 });

    expect(await repository.insertOnce(rex, idempotencyFor('a'))).toStrictEqual({ pet, replayed: true });
    expect(sent('find')).toBeGreaterThan(1);
  });
});
