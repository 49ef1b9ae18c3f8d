import { writeSync } from 'node:fs';
import { openSqliteKeys } from '../../src/adapters/sqlite/open.ts';
import { aKey } from './api-keys.ts';

/**
 * Makes API keys until it is killed, and revokes every second one: `node sqlite-key-writer.ts FILE`. A line for each
 * that is done, as soon as it is: its number, and what it is.
 */
const [file = ''] = process.argv.slice(2);
const { keys } = await openSqliteKeys(file);

for (let n = 1; ; n++) {
  const key = aKey(n);
  await keys.insert(key);
  // Not into a buffer of this process, which it would take with it.
  writeSync(1, `${n} made\n`);
  if (n % 2 === 0) continue;
  await keys.revoke(key.id, new Date(n));
  writeSync(1, `${n} revoked\n`);
}
