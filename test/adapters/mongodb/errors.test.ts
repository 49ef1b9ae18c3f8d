import { MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StorageUnavailable } from '../../../src/application/errors.ts';
import { failCommand } from '../../support/fail-point.ts';
import { freshDatabase, openRepository } from '../../support/mongo-database.ts';
import { sharedMongo, startMongo } from '../../support/mongodb.ts';

const none = (await sharedMongo()) === undefined;

// A server of its own: it has only one fail point for commands. Those of writes are in insert-outcomes.test.ts.
describe.skipIf(none)(`an error of MongoDB${none ? ' (left out: no server)' : ''}`, () => {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({ setParameters: { enableTestCommands: 1 } });
  }, 120_000);
  afterAll(() => mongo?.stop());

  // Written out once more: everything else is a bug.
  it.each([6, 7, 50, 64, 89, 91, 133, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436])(
    'with code %i is tried again, and means unavailable when it lasts',
    async (errorCode) => {
      const { url, db } = await freshDatabase(mongo, { migrated: false });

      const patient = await openRepository(url);
      await failCommand(db, 'find', { times: 3 }, { errorCode });
      await expect(patient.repository.list({ limit: 1 })).resolves.toStrictEqual([]);
      expect(patient.sent('find')).toBe(4);

      const impatient = await openRepository(url, 100);
      await failCommand(db, 'find', 'alwaysOn', { errorCode });
      await expect(impatient.repository.findById(1n)).rejects.toThrow(StorageUnavailable);
    },
  );

  it.each(['RetryableWriteError', 'SystemOverloadedError'])(
    'with the label %s is tried again, and means unavailable when it lasts',
    async (label) => {
      const { url, db } = await freshDatabase(mongo, { migrated: false });
      const failure = { errorCode: 8000, errorLabels: [label] };

      const patient = await openRepository(url);
      await failCommand(db, 'find', { times: 3 }, failure);
      await expect(patient.repository.list({ limit: 1 })).resolves.toStrictEqual([]);

      const impatient = await openRepository(url, 100);
      await failCommand(db, 'find', 'alwaysOn', failure);
      await expect(impatient.repository.findById(1n)).rejects.toThrow(StorageUnavailable);
    },
  );

  it.each([
    ['BadValue', 2],
    ['Unauthorized', 13],
    ['TypeMismatch', 14],
    ['NamespaceNotFound', 26],
    ['CursorNotFound', 43],
    ['an unknown one', 8000],
  ])('with another code is a bug, and stays what it is: %s', async (_, errorCode) => {
    const { url, db } = await freshDatabase(mongo, { migrated: false });
    const { repository, sent } = await openRepository(url);
    await failCommand(db, 'find', 'alwaysOn', { errorCode });

    for (const call of [() => repository.findById(1n), () => repository.list({ limit: 1 })]) {
      const error = await call().catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(MongoServerError);
      expect(error).toMatchObject({ code: errorCode });
    }
    expect(sent('find')).toBe(2);
  });

  it('keeps its cause, for the log', async () => {
    const { url, db } = await freshDatabase(mongo, { migrated: false });
    const { repository } = await openRepository(url, 500);
    await failCommand(db, 'find', 'alwaysOn', { errorCode: 262 });

    const error = await repository.findById(1n).catch((reason: unknown) => reason);

    expect(causes(error)).toContainEqual(expect.objectContaining({ code: 262 }));
  });
});

function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}
