import { expect, it } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { errorFields } from '../../../src/main/log/error-fields.ts';

const FULL = new Error('disk I/O error');

it.each([
  ['without a cause', new StorageUnavailable('no primary'), 'no primary'],
  ['with a cause', new StorageUnavailable('no file', { cause: FULL }), 'no file: disk I/O error'],
  [
    'with a cause that its message repeats',
    new StorageUnavailable('SQLite is unavailable: disk I/O error', { cause: FULL }),
    'SQLite is unavailable: disk I/O error',
  ],
  [
    'with causes in a row',
    new StorageUnavailable('a', { cause: new Error('b', { cause: FULL }) }),
    'a: b: disk I/O error',
  ],
])('the log fields of a storage error %s contain each message once, and no stack', (_, error, message) => {
  expect(errorFields(error)).toStrictEqual({ type: 'StorageUnavailable', message });
});

it('the log fields of a bug contain its stack, and those of an error for the operator contain its properties', () => {
  const fields = errorFields(new TypeError('boom', { cause: FULL }));
  expect(fields).toMatchObject({
    type: 'TypeError',
    stack: expect.stringMatching(/TypeError: boom\n[^]*disk I/),
  });
  const damaged = { type: 'DamagedPet', kind: 'damaged-pet', id: 7n, stack: expect.any(String) };
  expect(errorFields(new DamagedPet(7n, 'status must be …'))).toMatchObject(damaged);
});
