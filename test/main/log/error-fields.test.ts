import { expect, it } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { errorFields } from '../../../src/main/log/error-fields.ts';
import { DONE, run } from '../../support/process.ts';

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
])('an error of the storage %s has each message once, and no stack', (_, error, message) => {
  expect(errorFields(error)).toStrictEqual({ type: 'StorageUnavailable', message });
});

it('a bug has its stack', () => {
  const fields = errorFields(new TypeError('boom', { cause: FULL }));
  expect(fields).toMatchObject({
    type: 'TypeError',
    stack: expect.stringMatching(/TypeError: boom\n[^]*disk I/),
  });
});

it('the log of the service writes errors so', async () => {
  const program = run(process.execPath, [
    '--input-type=module-typescript',
    '-e',
    `import { StorageUnavailable } from './src/application/ports/storage-errors.ts';
    import { openServiceLog } from './src/main/log/open-log.ts';
    import { requestLog } from './src/main/log/request-log.ts';
    const log = requestLog(await openServiceLog({ logLevel: 'debug' }));
    for (let n = 0; n < 2; n++) log.failed(new StorageUnavailable('away'), 'r', { method: 'GET' });
    log.notLimited(new StorageUnavailable('away'), 'r');`,
  ]);
  expect(await program.ended).toStrictEqual(DONE);
  const err = { type: 'StorageUnavailable', message: 'away' };
  expect(program.log.map((line) => line['err'])).toStrictEqual([err, err]);
});
