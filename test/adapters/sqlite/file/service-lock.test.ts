import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  isLockedByService,
  serviceLockPath,
  takeServiceLock,
} from '../../../../src/adapters/sqlite/file/service-lock.ts';
import { newFile } from '../../../support/sqlite.ts';

describe('isLockedByService', () => {
  it('tells whether a service holds the lock, and creates no file', async () => {
    const file = await newFile();
    expect(isLockedByService(file)).toBe(false);
    expect(existsSync(serviceLockPath(file))).toBe(false);

    const lock = await takeServiceLock(file);
    expect(isLockedByService(file)).toBe(true);
    lock.close();

    expect(isLockedByService(file)).toBe(false);
  });
});
