import { writeSync } from 'node:fs';
import { openSqliteStorage } from '../../src/adapters/sqlite/open.ts';
import { aKey } from './api-keys.ts';
import { storageHost } from './storage-host.ts';

/**
 * Creates API keys, and revokes every second one, until a test kills it: `node sqlite-key-writer.ts FILE`. It prints a
 * line for each completed change: the number of the key, and `made` or `revoked`.
 */
const [file = ''] = process.argv.slice(2);
const { keys } = await openSqliteStorage(file, storageHost(), { mayShare: true });

for (let n = 1; ; n++) {
  const key = aKey(n);
  await keys.insert(key);
  // A buffer of this process would be lost with it.
  writeSync(1, `${n} made\n`);
  if (n % 2 === 0) continue;
  await keys.revoke(key.id, new Date(n));
  writeSync(1, `${n} revoked\n`);
}
