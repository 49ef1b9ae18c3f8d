import { expect, it } from 'vitest';
import { DamagedPet } from '../../../src/application/pets/errors.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { errorFields } from '../../../src/main/log/error-fields.ts';

const DISK_ERROR = new Error('disk I/O error');

it.each([
  ['that has no cause', new StorageUnavailable('no primary'), 'no primary'],
  ['that has a cause', new StorageUnavailable('no file', { cause: DISK_ERROR }), 'no file: disk I/O error'],
  [
    'whose message contains the message of its cause',
    new StorageUnavailable('SQLite is unavailable: disk I/O error', { cause: DISK_ERROR }),
    'SQLite is unavailable: disk I/O error',
  ],
  [
    'whose cause has a cause',
    new StorageUnavailable('a', { cause: new Error('b', { cause: DISK_ERROR }) }),
    'a: b: disk I/O error',
  ],
])('the log fields of %s have each message once, and no stack', (_, error, message) => {
  expect(errorFields(error)).toStrictEqual({ type: 'StorageUnavailable', message });
});

it('the log fields of a bug contain its stack, and the log fields of a damaged pet contain its stack, its kind and its id', () => {
  const fields = errorFields(new TypeError('boom', { cause: DISK_ERROR }));
  expect(fields).toMatchObject({
    type: 'TypeError',
    stack: expect.stringMatching(/TypeError: boom\n[^]*disk I/),
  });
  const damaged = { type: 'DamagedPet', kind: 'damaged-pet', id: 7n, stack: expect.any(String) };
  expect(errorFields(new DamagedPet(7n, 'status must be …'))).toMatchObject(damaged);
});
