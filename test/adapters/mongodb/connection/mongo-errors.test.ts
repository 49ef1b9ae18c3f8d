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

/** What an error means to the caller: unavailable or a bug, and whether a retry can succeed. */
function meaningOf(error: unknown): string {
  const means = toStorageError(error);
  // What the server says stays behind.
  expect(inspect(means)).not.toMatch(/Rex|a secret/);
  if (means instanceof StorageSetupError) return 'refused';
  const retry = isTransient(means) ? 'retried' : 'not retried';
  return means instanceof StorageUnavailable ? `unavailable, ${retry}` : `a bug, ${retry}`;
}

it.each([
  ['an outage', 'unavailable, retried', [1, 26, 64, 91, 112, 10_107, 11_600, 13_435, 987_654]],
  ['that the request itself is a bug', 'a bug, not retried', [2, 9, 14, 11_000, 40_415]],
  ['that an operator is needed', 'unavailable, not retried', [13, 18]],
])('an error code of a MongoDB server means %s: %s', (_, meaning, codes) => {
  for (const code of codes) expect(meaningOf(reply(code)), `${code}`).toBe(meaning);
});

it('the message of a MongoDB server that the index of a hint is missing means that an operator is needed', () => {
  const message = 'planner returned error: hint provided does not correspond to an existing index';
  expect(meaningOf(reply(2, message))).toBe('unavailable, not retried');
  expect(meaningOf(reply(9, message))).toBe('a bug, not retried');
});

it.each([
  new MongoTopologyClosedError('x'),
  new MongoServerClosedError('x'),
  new MongoClientClosedError(),
  new MongoNotConnectedError('x'),
  new MongoExpiredSessionError('x'),
  Object.defineProperty(new MongoError('x'), 'name', { value: 'MongoPoolClosedError' }),
])('an error of a closed client means that the storage is unavailable, and no retry is made: %s', (error) => {
  expect(meaningOf(error)).toBe('unavailable, not retried');
});

it('toStorageError returns a StorageUnavailable unchanged', () => {
  const error = new StorageUnavailable('x');
  expect(toStorageError(error)).toBe(error);
  expect(isTransient(error)).toBe(true);
});

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
  ['a closed socket', coded('Socket is closed', 'ERR_SOCKET_CLOSED')],
  ['an invalid BSON reply', new BSON.BSONError('bad embedded document length in bson')],
  ['an incompatible server', new MongoCompatibilityError('reports maximum wire version 1')],
  ['any other runtime error', new MongoRuntimeError('SizedMessageTransform does not …')],
  ['one wrapped into a bulk write error', hidden(cut)],
  ['a socket error of Node', Object.assign(new Error('x'), { code: 'UNKNOWN', syscall: 'read' })],
  ['a bulk write with one write conflict', partly(11_000, 112)],
  [
    'a bulk write that failed as a whole',
    new MongoBulkWriteError({ message: 'x', code: 64 }, {} as BulkWriteResult),
  ],
])('an error of the driver means an outage when the connection caused it: %s', (_, error) => {
  expect(meaningOf(error)).toBe('unavailable, retried');
  expect(toStorageError(error)).not.toHaveProperty('cause');
});

it.each([
  new TypeError('undefined is not a function'),
  coded('The "size" argument must be …', 'ERR_INVALID_ARG_TYPE'),
  Object.assign(new RangeError('out of range'), { code: 'ERR_OUT_OF_RANGE' }),
  new Error('something else'),
  new MongoInvalidArgumentError('Argument "size" must be a non-negative number'),
  new MongoCursorExhaustedError(),
  'a string',
  undefined,
])('an error of the driver stays unchanged when it is a bug: %s', (error) => {
  expect(toStorageError(error)).toBe(error);
});

const duplicate = (index: string, value: string) =>
  `E11000 duplicate key error collection: shop.pets index: ${index} dup key: { ${value} }`;
const dropping = (index: string) =>
  `the unique index "${index}" of the collection "pets" refuses a record, and petstore has not made it; ` +
  `run in mongosh: db.getCollection("pets").dropIndex("${index}")`;
const VALIDATOR = 'a validator of MongoDB refuses a record; petstore check reports which';

it.each<readonly [string, Error, string]>([
  [
    'a right that is missing',
    reply(13),
    'MongoDB is unavailable: Unauthorized (13); the role readWrite has the rights of the service, and dbAdmin those of migrate besides',
  ],
  [
    'a name that only the server knows',
    reply(91, 'x', { codeName: 'ShutdownInProgress' }),
    'MongoDB is unavailable: ShutdownInProgress (91)',
  ],
  ['a code of a document', reply(371), 'MongoDB is unavailable: UserWritesBlocked (371)'],
  [
    'a code without a name',
    reply(91),
    'MongoDB is unavailable: a code of https://www.mongodb.com/docs/manual/reference/error-codes (91)',
  ],
  ['a bug', reply(9), 'MongoDB rejects a command: FailedToParse (9)'],
  [
    'a pool that the driver has cleared',
    new MongoError('… failed with: "name: "Rex""', { cause: reply(371) }),
    'MongoDB is unavailable: UserWritesBlocked (371)',
  ],
  ['an index of the operator', reply(11_000, duplicate('my index', 'name: "Rex"')), dropping('my index')],
  [
    'one with a collation',
    reply(11_000, duplicate('n', 'name: "Rex"').replace(' dup', ' collation: { locale: "de" } dup')),
    dropping('n'),
  ],
  ['one of several fields', reply(11_000, duplicate('n', '"name": "Rex", _id: 7')), dropping('n')],
  [
    'our own index under another name',
    reply(11_000, duplicate('n', 'idem.k: "Rex"')),
    'MongoDB rejects a command: DuplicateKey (11000)',
  ],
  ['a validator', reply(121), VALIDATOR],
  ['a validator, for one of several documents', partly(11_000, 121), VALIDATOR],
])('the text of a server, which can quote pets and keys, is not in the error: %s', (_, error, message) => {
  const means = toStorageError(error);
  expect(means).toMatchObject({ message });
  expect(inspect(means)).not.toMatch(/Rex|a secret/);
});

const rejected = { code: 11_000, keyPattern: { 'idem.k': 1, _id: 1 } };
const late = { ok: 1, writeConcernError: { code: 64, errmsg: 'timeout' } };

it.each<[string, unknown, string | undefined]>([
  ['the first one', new MongoServerError({ message: 'x', ...rejected }), 'idem.k'],
  [
    'with a write concern timeout',
    new MongoWriteConcernError({ ...late, writeErrors: [rejected] }),
    'idem.k',
  ],
  ['none with such a timeout alone', new MongoWriteConcernError(late), undefined],
  ['none of an empty list', new MongoWriteConcernError({ ...late, writeErrors: [] }), undefined],
  ['none of another code', new MongoServerError({ message: 'x', ...rejected, code: 112 }), undefined],
  ['none if the server names none', new MongoServerError({ message: 'x', code: 11_000 }), undefined],
  ['none if the server did not answer', Object.assign(new Error('x'), rejected), undefined],
])('duplicateField returns the field of the unique index that rejected a write: %s', (_, error, field) => {
  expect(duplicateField(error)).toBe(field);
});

function coded(message: string, code: string | number): Error {
  return Object.assign(new Error(message), { code });
}

function reply(
  code: number,
  message = 'x { name: "Rex", digest: "a secret" }',
  rest: object = {},
): MongoServerError {
  return new MongoServerError({ code, message, ...rest });
}

/** The error of `insertMany` when its connection fails. */
function hidden(reason: Error): MongoBulkWriteError {
  const error = new MongoBulkWriteError({ message: reason.message, code: 0 }, Object.create(null));
  return Object.assign(error, { errorResponse: reason });
}

/** The error of `insertMany` when some of its documents fail. */
function partly(...codes: readonly number[]): MongoBulkWriteError {
  const error = new MongoBulkWriteError({ message: 'x', code: codes[0]! }, {} as BulkWriteResult);
  return Object.assign(error, { writeErrors: codes.map((code, index) => ({ code, index })) });
}
