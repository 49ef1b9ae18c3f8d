import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import {
  retryWhileBusy,
  runAndTranslate,
  setupError,
  translated,
} from '../../../src/adapters/sqlite/errors.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { numbers } from '../../support/numbers.ts';

/**
 * The primary codes of https://www.sqlite.org/rescode.html that mean a failure of the storage. All others mean a bug.
 */
const FAILURE_CODES: readonly number[] = [3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 22, 26];
const PRIMARY_CODES = [...numbers(29), 100, 101];
/** Each primary code with two of its extended codes. The lowest byte of a code is its primary code. */
const CODES = PRIMARY_CODES.flatMap((code) => [code, code + (1 << 8), code + (12 << 8)]);

describe('translated', () => {
  const unavailable = (cause: Error) =>
    new StorageUnavailable(`SQLite is unavailable: ${cause.message}`, { cause });

  it('returns StorageUnavailable with the cause for a failure, and the error itself for a bug', () => {
    for (const errcode of CODES) {
      const error = sqliteError(errcode, 'x');
      const expected = FAILURE_CODES.includes(errcode % 256) ? unavailable(error) : error;
      expect(translated(error), `${errcode}`).toStrictEqual(expected);
    }
    const failedCall = Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'stat' });
    expect(translated(failedCall)).toStrictEqual(unavailable(failedCall));
  });

  it('returns StorageUnavailable for a connection that this process has closed', () => {
    const db = new DatabaseSync(':memory:');
    db.close();

    expect(() => runAndTranslate(() => db.exec('SELECT 1'))).toThrow(
      'SQLite is unavailable: database is not open',
    );
  });

  it.each([
    new Error('x'),
    Object.assign(new Error('no system call'), { code: 'ENOSPC' }),
    'SQLITE_BUSY',
    undefined,
  ])('returns any other value unchanged: %s', (error) => {
    expect(translated(error)).toBe(error);
  });
});

it('retryWhileBusy repeats its work for 5 s while the file is locked', async () => {
  const clock = fakeClock();
  let attempts = 0;
  const work = () => {
    clock.advance(2_000);
    if (++attempts < 9) throw Object.assign(new Error('locked'), { errcode: 5 });
  };
  await expect(retryWhileBusy(work)).rejects.toMatchObject({ errcode: 5 });
  expect(attempts).toBe(3);
});

it.each([
  [11, 'is damaged or truncated; restore a backup'],
  [5, 'is locked by another program; stop that program and try again'],
  [8, 'cannot be written; check the permissions of the file and of its directory'],
  [14, 'cannot be opened; check that it is a file, and the permissions of the file and of its directory'],
  [26, 'is not a SQLite database; choose another path'],
  [13, 'cannot be written: its disk is full'],
  [266, 'cannot be opened: of SQLite'],
])('setupError explains the SQLite result code %i in one line of text', (errcode, expected) => {
  const error = sqliteError(errcode, 'of\nSQLite');

  expect(setupError('/data/pets.db', error)).toStrictEqual(
    new StorageSetupError(`the SQLite file /data/pets.db ${expected}`, { cause: error }),
  );
});

it.each([
  new TypeError('x is not a function'),
  // An error of node:sqlite that has no result code.
  Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR' }),
])('setupError returns a bug unchanged: %s', (bug) => {
  expect(setupError('/data/pets.db', bug)).toBe(bug);
});

function sqliteError(errcode: number, message: string): Error {
  return Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
}
