import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  isBusy,
  isConstraint,
  isDamage,
  runAndTranslate,
  setupError,
  translated,
} from '../../../src/adapters/sqlite/errors.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';

/** The codes of https://www.sqlite.org/rescode.html that mean a failure of the storage. */
const UNAVAILABLE = {
  SQLITE_PERM: 3,
  SQLITE_BUSY: 5,
  SQLITE_BUSY_RECOVERY: 261,
  SQLITE_BUSY_SNAPSHOT: 517,
  SQLITE_LOCKED: 6,
  SQLITE_LOCKED_SHAREDCACHE: 262,
  SQLITE_NOMEM: 7,
  SQLITE_READONLY: 8,
  SQLITE_READONLY_DBMOVED: 1032,
  SQLITE_INTERRUPT: 9,
  SQLITE_IOERR: 10,
  SQLITE_IOERR_READ: 266,
  SQLITE_IOERR_SHORT_READ: 522,
  SQLITE_IOERR_WRITE: 778,
  SQLITE_IOERR_FSYNC: 1034,
  SQLITE_IOERR_NOMEM: 3082,
  SQLITE_CORRUPT: 11,
  SQLITE_CORRUPT_INDEX: 779,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_CANTOPEN_DIRTYWAL: 1294,
  SQLITE_PROTOCOL: 15,
  SQLITE_NOLFS: 22,
  SQLITE_NOTADB: 26,
};

/** The others, which mean a bug in this program. */
const BUGS = {
  SQLITE_OK: 0,
  SQLITE_ERROR: 1,
  SQLITE_INTERNAL: 2,
  SQLITE_ABORT: 4,
  SQLITE_ABORT_ROLLBACK: 516,
  SQLITE_NOTFOUND: 12,
  SQLITE_EMPTY: 16,
  SQLITE_SCHEMA: 17,
  SQLITE_TOOBIG: 18,
  SQLITE_CONSTRAINT: 19,
  SQLITE_CONSTRAINT_CHECK: 275,
  SQLITE_CONSTRAINT_UNIQUE: 2067,
  SQLITE_CONSTRAINT_DATATYPE: 3091,
  SQLITE_MISMATCH: 20,
  SQLITE_MISUSE: 21,
  SQLITE_AUTH: 23,
  SQLITE_FORMAT: 24,
  SQLITE_RANGE: 25,
  SQLITE_NOTICE: 27,
  SQLITE_WARNING: 28,
  SQLITE_ROW: 100,
  SQLITE_DONE: 101,
};

describe('translated', () => {
  it.each(Object.entries(UNAVAILABLE))(
    'returns StorageUnavailable with the cause for %s (%i)',
    (name, errcode) => {
      const error = sqliteError(errcode, name);

      const result = translated(error);

      expect(result).toBeInstanceOf(StorageUnavailable);
      expect(result).toHaveProperty('cause', error);
      expect(result).toHaveProperty('message', `SQLite is unavailable: ${name}`);
    },
  );

  it.each(Object.entries(BUGS))('returns the error itself for %s (%i)', (name, errcode) => {
    const error = sqliteError(errcode, name);

    expect(translated(error)).toBe(error);
  });

  it.each(['EIO', 'ENOSPC', 'EROFS', 'EACCES', 'EMFILE', 'ENOTCONN', 'ESHUTDOWN'])(
    'returns StorageUnavailable for a failed system call: %s',
    (code) => {
      const error = Object.assign(new Error(code), { code, syscall: 'stat' });

      const result = translated(error);

      expect(result).toBeInstanceOf(StorageUnavailable);
      expect(result).toHaveProperty('cause', error);
    },
  );

  it('returns StorageUnavailable for a connection that this process has closed', () => {
    const db = new DatabaseSync(':memory:');
    db.close();

    expect(() => runAndTranslate(() => db.exec('SELECT 1'))).toThrow(
      'SQLite is unavailable: database is not open',
    );
  });

  it.each([
    ['another error', new Error('x')],
    ['another error with a number', Object.assign(new Error('x'), { errcode: 10 })],
    ['another error with a code and a number', Object.assign(new Error('x'), { code: 'EX', errcode: 10 })],
    [
      'an error with the code of a system error and no system call',
      Object.assign(new Error('x'), { code: 'ENOSPC' }),
    ],
    ['a string', 'SQLITE_BUSY'],
    ['undefined', undefined],
  ])('returns the value itself for %s', (_, error) => {
    expect(translated(error)).toBe(error);
  });
});

describe('setupError', () => {
  it.each([
    [11, 'is damaged or truncated; restore a backup'],
    [5, 'is locked by another program; stop that program and try again'],
    [8, 'cannot be written; check the permissions of the file and of its directory'],
    [14, 'cannot be opened; check that it is a file, and the permissions of the file and of its directory'],
    [26, 'is not a SQLite database; choose another path'],
    [13, 'cannot be used: of SQLite'],
    [266, 'cannot be used: of SQLite'],
  ])('says in one line what to do about %i', (errcode, expected) => {
    const error = sqliteError(errcode, 'of\nSQLite');

    const result = setupError('/data/pets.db', error);

    expect(result).toBeInstanceOf(StorageSetupError);
    expect(result).toHaveProperty('message', `the SQLite file /data/pets.db ${expected}`);
    expect(result).toHaveProperty('cause', error);
  });

  it('gives the reason of the system', () => {
    const error = Object.assign(new Error('ENOSPC: no space'), { code: 'ENOSPC', syscall: 'write' });

    expect(setupError('/data/pets.db', error)).toStrictEqual(
      new StorageSetupError('the SQLite file /data/pets.db cannot be opened: ENOSPC: no space', {
        cause: error,
      }),
    );
  });

  it.each([
    ['a TypeError', new TypeError('x is not a function')],
    [
      'an error of node:sqlite without a result code',
      Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR' }),
    ],
  ])('returns the error itself for a bug: %s', (_, bug) => {
    expect(setupError('/data/pets.db', bug)).toBe(bug);
  });
});

describe('isDamage', () => {
  it.each([
    [11, true],
    [267, true],
    [26, true],
    [10, false],
    [14, false],
  ])('recognizes %i', (errcode, damage) => {
    expect(isDamage(sqliteError(errcode, 'x'))).toBe(damage);
  });
});

describe('isBusy and isConstraint', () => {
  it.each([
    [5, true, false],
    [517, true, false],
    [6, false, false],
    [10, false, false],
    [19, false, true],
    [2067, false, true],
  ])('recognize %i', (errcode, busy, constraint) => {
    const error = sqliteError(errcode, 'x');

    expect([isBusy(error), isConstraint(error)]).toStrictEqual([busy, constraint]);
  });
});

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
}
