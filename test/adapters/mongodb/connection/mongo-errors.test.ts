import {
  BSON,
  MongoBulkWriteError,
  MongoCompatibilityError,
  MongoCursorExhaustedError,
  MongoInvalidArgumentError,
  MongoParseError,
  MongoRuntimeError,
  MongoServerError,
} from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toStorageError } from '../../../../src/adapters/mongodb/connection/mongo-errors.ts';
import { openMongoStorage } from '../../../../src/adapters/mongodb/open.ts';
import { StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';
import { failCommand } from '../../../support/fail-point.ts';
import { freshDatabase, openRepository } from '../../../support/mongo-database.ts';
import { sharedMongo, startMongo } from '../../../support/mongodb.ts';

const none = (await sharedMongo()) === undefined;

// A separate server: it has one fail point for commands. insert-outcomes.test.ts tests the errors of writes.
describe.skipIf(none)(`an error of MongoDB${none ? ' (left out: no server)' : ''}`, () => {
  let mongo: Awaited<ReturnType<typeof startMongo>>;
  beforeAll(async () => {
    mongo = await startMongo({ setParameters: { enableTestCommands: 1 } });
  }, 120_000);
  afterAll(() => mongo?.stop());

  // A selection of the codes that are not in the table.
  it.each([
    ['InternalError', 1],
    ['HostUnreachable', 6],
    ['HostNotFound', 7],
    ['LockTimeout', 24],
    ['NamespaceNotFound', 26],
    ['CursorNotFound', 43],
    ['MaxTimeMSExpired', 50],
    ['WriteConcernTimeout', 64],
    ['NetworkTimeout', 89],
    ['ShutdownInProgress', 91],
    ['UnsatisfiableWriteConcern', 100],
    ['WriteConflict', 112],
    ['FailedToSatisfyReadPreference', 133],
    ['ReadConcernMajorityNotAvailableYet', 134],
    ['QueryPlanKilled', 175],
    ['PrimarySteppedDown', 189],
    ['NetworkInterfaceExceededTimeLimit', 202],
    ['SnapshotUnavailable', 246],
    ['ExceededTimeLimit', 262],
    ['TooManyFilesOpen', 264],
    ['DataCorruptionDetected', 301],
    ['TemporarilyUnavailable', 365],
    ['UserWritesBlocked', 371],
    ['AtlasError', 8000],
    ['SocketException', 9001],
    ['NotWritablePrimary', 10_107],
    ['InterruptedAtShutdown', 11_600],
    ['Interrupted', 11_601],
    ['InterruptedDueToReplStateChange', 11_602],
    ['NotPrimaryNoSecondaryOk', 13_435],
    ['NotPrimaryOrSecondary', 13_436],
    ['OutOfDiskSpace', 14_031],
    ['an unknown code', 987_654],
  ])('is retried, and means unavailable when it persists: %s', async (_, errorCode) => {
    const { url, db } = await freshDatabase(mongo, { migrated: false });

    const patient = await openRepository(url);
    await failCommand(db, 'find', { times: 3 }, { errorCode });
    await expect(patient.repository.list({ limit: 1 })).resolves.toStrictEqual([]);
    expect(patient.sent('find')).toBe(4);

    const impatient = await openRepository(url, 100);
    await failCommand(db, 'find', 'alwaysOn', { errorCode });
    await expect(impatient.repository.findById(1n)).rejects.toThrow(StorageUnavailable);
  });

  it.each([
    ['Unauthorized', 13],
    ['AuthenticationFailed', 18],
  ])('that only an operator can resolve means unavailable at once: %s', async (_, errorCode) => {
    const { url, db } = await freshDatabase(mongo);
    const { repository, sent } = await openRepository(url, 60_000);
    const { probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);
    await failCommand(db, 'find', 'alwaysOn', { errorCode });

    await expect(repository.findById(1n)).rejects.toThrow(StorageUnavailable);
    expect(sent('find')).toBe(1);
    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
  });

  it.each(['RetryableWriteError', 'SystemOverloadedError'])(
    'with the label %s is retried, and means unavailable when it persists',
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

  // The table again, without 121 and 11000, which insert-outcomes.test.ts tests.
  it.each([
    2, 4, 9, 10, 12, 14, 15, 16, 20, 21, 22, 28, 29, 30, 34, 40, 48, 52, 53, 54, 55, 56, 57, 59, 61, 66, 67,
    68, 72, 73, 85, 86, 97, 111, 115, 151, 159, 160, 168, 171, 181, 183, 184, 185, 186, 197, 201, 207, 224,
    238, 241, 263, 322, 323, 324, 347, 357, 378, 10_334, 40_413, 40_414, 40_415, 50_768,
  ])(
    'with the code %i, which rejects the request itself, is a bug and stays unchanged',
    async (errorCode) => {
      const { url, db } = await freshDatabase(mongo, { migrated: false });
      const { repository, sent } = await openRepository(url);
      await failCommand(db, 'find', 'alwaysOn', { errorCode });

      for (const call of [() => repository.findById(1n), () => repository.list({ limit: 1 })]) {
        const error = await call().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(MongoServerError);
        expect(error).toMatchObject({ code: errorCode });
      }
      expect(sent('find')).toBe(2);
    },
  );

  it('keeps its cause, for the log', async () => {
    const { url, db } = await freshDatabase(mongo, { migrated: false });
    const { repository } = await openRepository(url, 500);
    await failCommand(db, 'find', 'alwaysOn', { errorCode: 262 });

    const error = await repository.findById(1n).catch((reason: unknown) => reason);

    expect(causes(error)).toContainEqual(expect.objectContaining({ code: 262 }));
  });
});

describe('an error of the driver', () => {
  const cut = Object.assign(new Error('write ECONNRESET'), {
    errno: -104,
    code: 'ECONNRESET',
    syscall: 'write',
  });

  it.each([
    ['a write to a reset connection', cut],
    [
      'a write to a connection ended by the peer',
      coded('This socket has been ended by the other party', 'EPIPE'),
    ],
    ['a write after the end', coded('write after end', 'ERR_STREAM_WRITE_AFTER_END')],
    ['a write to a destroyed stream', coded('Cannot call write after …', 'ERR_STREAM_DESTROYED')],
    ['a closed socket', coded('Socket is closed', 'ERR_SOCKET_CLOSED')],
    ['an invalid BSON reply', new BSON.BSONError('bad embedded document length in bson')],
    ['an invalid message', new MongoParseError('Message size cannot be negative: -1')],
    ['an incompatible server', new MongoCompatibilityError('reports maximum wire version 1')],
    ['any other runtime error', new MongoRuntimeError('SizedMessageTransform does not …')],
    ['one wrapped into a bulk write error', hidden(cut)],
    ['a bulk write with one write conflict', partly(11_000, 112)],
  ])('means unavailable when the connection caused it: %s', (_, error) => {
    expect(toStorageError(error)).toStrictEqual(
      new StorageUnavailable(`MongoDB is unavailable: ${(error as MongoBulkWriteError).message}`, {
        cause: error,
      }),
    );
  });

  it.each([
    new TypeError('undefined is not a function'),
    coded('The "size" argument must be …', 'ERR_INVALID_ARG_TYPE'),
    Object.assign(new RangeError('out of range'), { code: 'ERR_OUT_OF_RANGE' }),
    new RangeError('9223372036854775808 is not between …'),
    new Error('something else'),
    new MongoInvalidArgumentError('Argument "size" must be a non-negative number'),
    new MongoCursorExhaustedError(),
    partly(11_000, 121),
    'a string',
    undefined,
  ])('stays unchanged when it is a bug: %s', (error) => {
    expect(toStorageError(error)).toBe(error);
  });
});

function coded(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The error of `insertMany` when its connection fails. */
function hidden(reason: Error): MongoBulkWriteError {
  const error = new MongoBulkWriteError({ message: reason.message, code: 0 }, Object.create(null));
  return Object.assign(error, { errorResponse: reason });
}

/** The error of `insertMany` when some of its documents fail. */
function partly(...codes: readonly number[]): MongoBulkWriteError {
  const error = new MongoBulkWriteError({ message: 'x', code: codes[0]! }, Object.create(null));
  return Object.assign(error, { writeErrors: codes.map((code, index) => ({ code, index })) });
}

function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}
