import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isLocked, lockOf, takeLock } from '../../../src/adapters/sqlite/lock.ts';
import { newFile } from '../../support/sqlite.ts';

describe('isLocked', () => {
  it('knows whether a service holds the file, and makes nothing', async () => {
    const file = await newFile();
    expect(isLocked(file)).toBe(false);
    expect(existsSync(lockOf(file))).toBe(false);

    const lock = await takeLock(file);
    expect(isLocked(file)).toBe(true);
    lock.close();

    expect(isLocked(file)).toBe(false);
  });
});
