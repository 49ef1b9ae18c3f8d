import {
  BSON,
  type BulkWriteResult,
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoCompatibilityError,
  MongoCursorExhaustedError,
  MongoError,
  MongoExpiredSessionError,
  MongoInvalidArgumentError,
  MongoNotConnectedError,
  MongoRuntimeError,
  MongoServerClosedError,
  MongoServerError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import {
  duplicateField,
  isTransient,
  toStorageError,
} from '../../../../src/adapters/mongodb/connection/mongo-errors.ts';
import { StorageSetupError, StorageUnavailable } from '../../../../src/application/ports/storage-errors.ts';

/** Whether an error of the driver means an outage, a bug or a refusal, and whether the adapter retries the call. */
function meaningOf(error: unknown): string {
  const storageError = toStorageError(error);
  // The error must not quote the text of the server.
  expect(inspect(storageError)).not.toMatch(/Rex|a secret/);
  if (storageError instanceof StorageSetupError) return 'refused';
  const retry = isTransient(storageError) ? 'retried' : 'not retried';
  return storageError instanceof StorageUnavailable ? `unavailable, ${retry}` : `a bug, ${retry}`;
}

it.each([
  ['unavailable, retried', 'an outage', [1, 26, 64, 91, 112, 10_107, 11_600, 13_435, 987_654]],
  ['a bug, not retried', 'a wrong command of the adapter', [2, 9, 14, 11_000, 40_415]],
  ['unavailable, not retried', 'a missing right or a failed login', [13, 18]],
])('a server error is "%s" if its code means %s', (meaning, _, codes) => {
  for (const code of codes) expect(meaningOf(serverError(code)), `${code}`).toBe(meaning);
});

it('an error about the missing index of a hint means an outage that no retry can end', () => {
  const message = 'planner returned error: hint provided does not correspond to an existing index';
  // MongoDB has no code for a missing index: it sends the code 2 (BadValue). The text has no meaning with other codes.
  expect(meaningOf(serverError(2, message))).toBe('unavailable, not retried');
  expect(meaningOf(serverError(9, message))).toBe('a bug, not retried');
});

it.each([
  new MongoTopologyClosedError('x'),
  new MongoServerClosedError('x'),
  new MongoClientClosedError(),
  new MongoNotConnectedError('x'),
  new MongoExpiredSessionError('x'),
  // The driver does not export `MongoPoolClosedError`.
  Object.defineProperty(new MongoError('x'), 'name', { value: 'MongoPoolClosedError' }),
])('an error of a closed client means an outage that no retry can end: %s', (error) => {
  expect(meaningOf(error)).toBe('unavailable, not retried');
});

it('toStorageError returns a StorageUnavailable unchanged', () => {
  const error = new StorageUnavailable('x');
  expect(toStorageError(error)).toBe(error);
  expect(isTransient(error)).toBe(true);
});

const resetError = Object.assign(new Error('write ECONNRESET'), {
  errno: -104,
  code: 'ECONNRESET',
  syscall: 'write',
});

it.each([
  ['a write to a reset connection', resetError],
  [
    'a write to a connection ended by the peer',
    errorWithCode('This socket has been ended by the other party', 'EPIPE'),
  ],
  ['a write after the end', errorWithCode('write after end', 'ERR_STREAM_WRITE_AFTER_END')],
  ['a closed socket', errorWithCode('Socket is closed', 'ERR_SOCKET_CLOSED')],
  ['an invalid BSON reply', new BSON.BSONError('bad embedded document length in bson')],
  ['an incompatible server', new MongoCompatibilityError('reports maximum wire version 1')],
  ['a runtime error of the driver', new MongoRuntimeError('SizedMessageTransform does not …')],
  ['a write to a reset connection, inside a bulk write error', wrapInBulkWrite(resetError)],
  ['a socket error of Node', Object.assign(new Error('x'), { code: 'UNKNOWN', syscall: 'read' })],
  ['a bulk write with one write conflict', bulkWriteError(11_000, 112)],
  [
    'a bulk write that failed as a whole',
    new MongoBulkWriteError({ message: 'x', code: 64 }, {} as BulkWriteResult),
  ],
])('an error of the driver means an outage that a retry can end: %s', (_, error) => {
  expect(meaningOf(error)).toBe('unavailable, retried');
  expect(toStorageError(error)).not.toHaveProperty('cause');
});

it.each([
  new TypeError('undefined is not a function'),
  errorWithCode('The "size" argument must be …', 'ERR_INVALID_ARG_TYPE'),
  Object.assign(new RangeError('out of range'), { code: 'ERR_OUT_OF_RANGE' }),
  new Error('something else'),
  new MongoInvalidArgumentError('Argument "size" must be a non-negative number'),
  new MongoCursorExhaustedError(),
  'a string',
  undefined,
])('toStorageError returns an error unchanged if it means a bug: %s', (error) => {
  expect(toStorageError(error)).toBe(error);
});

/** The error of a server that refuses a document because of a unique index. */
const duplicateError = (index: string, key: string) =>
  serverError(11_000, `E11000 duplicate key error collection: shop.pets index: ${index} dup key: { ${key} }`);
/** The message about a unique index that the operator has added to the database. */
const indexMessage = (index: string) =>
  `the unique index "${index}" of the collection "pets" refuses a record, and petstore did not create it; ` +
  `run in mongosh: db.getCollection("pets").dropIndex("${index}")`;
const VALIDATOR_MESSAGE = 'a validator of MongoDB refuses a record; petstore check names it';

// An error must not have the text of the server, because this text can quote pets and keys.
it.each<readonly [string, Error, string]>([
  [
    'a missing right',
    serverError(13),
    'MongoDB is unavailable: Unauthorized (13); the service needs the role readWrite, and petstore migrate also needs dbAdmin',
  ],
  [
    'a code that only the reply names',
    serverError(91, 'x', { codeName: 'ShutdownInProgress' }),
    'MongoDB is unavailable: ShutdownInProgress (91)',
  ],
  ['a code that only petstore names', serverError(371), 'MongoDB is unavailable: UserWritesBlocked (371)'],
  [
    'a code that neither the reply nor petstore names',
    serverError(91),
    'MongoDB is unavailable: a code of https://www.mongodb.com/docs/manual/reference/error-codes (91)',
  ],
  ['a bug', serverError(9), 'MongoDB rejects a command: FailedToParse (9)'],
  [
    'a connection pool that the driver has cleared',
    new MongoError('… failed with: "name: "Rex""', { cause: serverError(371) }),
    'MongoDB is unavailable: UserWritesBlocked (371)',
  ],
  ['an index of the operator', duplicateError('my index', 'name: "Rex"'), indexMessage('my index')],
  [
    'an index of the operator with a collation',
    duplicateError('n collation: { locale: "de" }', 'name: "Rex"'),
    indexMessage('n'),
  ],
  ['an index of the operator on two fields', duplicateError('n', '"name": "Rex", _id: 7'), indexMessage('n')],
  [
    'an index of petstore that has an unexpected name',
    duplicateError('n', 'idem.k: "Rex"'),
    'MongoDB rejects a command: DuplicateKey (11000)',
  ],
  ['a validator', serverError(121), VALIDATOR_MESSAGE],
  ['a validator, for one document of a bulk write', bulkWriteError(11_000, 121), VALIDATOR_MESSAGE],
])('toStorageError removes the text of the server from an error about %s', (_, error, message) => {
  const storageError = toStorageError(error);
  expect(storageError).toMatchObject({ message });
  expect(inspect(storageError)).not.toMatch(/Rex|a secret/);
});

/** The fields of the index that refuses a write. */
const keyPattern = { 'idem.k': 1, _id: 1 };
const duplicateKey = { code: 11_000, keyPattern };
/** The error of a write that no majority of the members has confirmed in time. */
const writeConcernTimeout = (otherFields: object = {}) =>
  new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: 'timeout' }, ...otherFields });

it.each<[string, unknown, string | undefined]>([
  ['the first field of the index', serverError(11_000, 'x', { keyPattern }), 'idem.k'],
  [
    'the first field after a write concern timeout',
    writeConcernTimeout({ writeErrors: [duplicateKey] }),
    'idem.k',
  ],
  ['nothing if only the write concern timed out', writeConcernTimeout(), undefined],
  ['nothing if the list of failed writes is empty', writeConcernTimeout({ writeErrors: [] }), undefined],
  ['nothing if the code is not DuplicateKey', serverError(112, 'x', { keyPattern }), undefined],
  ['nothing if the server names no field', serverError(11_000, 'x'), undefined],
  ['nothing if the server did not answer', Object.assign(new Error('x'), duplicateKey), undefined],
])('duplicateField returns %s', (_, error, field) => {
  expect(duplicateField(error)).toBe(field);
});

function errorWithCode(message: string, code: string | number): Error {
  return Object.assign(new Error(message), { code });
}

/** An error of the server. By default, its message quotes a pet and a key. */
function serverError(
  code: number,
  message = 'x { name: "Rex", digest: "a secret" }',
  otherFields: object = {},
): MongoServerError {
  return new MongoServerError({ code, message, ...otherFields });
}

/** The error of `insertMany` when its connection fails. */
function wrapInBulkWrite(reason: Error): MongoBulkWriteError {
  const error = new MongoBulkWriteError({ message: reason.message, code: 0 }, Object.create(null));
  return Object.assign(error, { errorResponse: reason });
}

/** The error of `insertMany` when some of its documents fail. */
function bulkWriteError(...codes: readonly number[]): MongoBulkWriteError {
  const error = new MongoBulkWriteError({ message: 'x', code: codes[0]! }, {} as BulkWriteResult);
  return Object.assign(error, { writeErrors: codes.map((code, index) => ({ code, index })) });
}
