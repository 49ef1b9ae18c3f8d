import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { takeServiceLock } from '../../../src/adapters/sqlite/service-lock.ts';
import { migrateSchema } from '../../../src/adapters/sqlite/schema.ts';
import { aKey } from '../../support/api-keys.ts';
import {
  copiedPages,
  closeAfterTest,
  countPets,
  expectPending,
  newPath,
  newService,
  openKeys,
  openService,
  otherConnection,
  startWriter,
} from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';

const now = new Date(1_800_000_000_000);

it('the first start of a service waits for a command that creates API keys, and the service then has these keys', async () => {
  const file = join(dirname(await newPath()), 'data', 'petstore.db');
  const { keys: first, close } = await openKeys(file);
  await first.insert(aKey(1));

  const starting = openService(file);
  await close();
  const service = await starting;
  const { keys } = await closeAfterTest(openKeys(file));

  expect(await service.keys.list()).toStrictEqual([aKey(1)]);
  expect(await service.pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  await keys.insert(aKey(2));
  expect(await service.keys.findById(aKey(2).id)).toStrictEqual(aKey(2));
});

it('the close of a command that creates the database waits for its writes, and leaves the file and an empty lock file', async () => {
  const file = await newPath();
  const { keys, close } = await openKeys(file);
  const inserting = keys.insert(aKey(1));
  await close();

  await inserting;
  expect((await readdir(dirname(file))).toSorted()).toStrictEqual(['petstore.db', 'petstore.db.lock']);
});

it('API keys can be created and revoked while a service stores pets', async () => {
  const file = await newPath();
  const service = startWriter(file, 8);
  await service.printed(/^20 /m);

  const { keys } = await closeAfterTest(openKeys(file));
  for (let n = 1; n <= 5; n++) {
    await keys.insert(aKey(n));
    await keys.revoke(aKey(n).id, now);
    await keys.recordUse(new Map([[aKey(n).id, now]]));
  }

  const before = service.stdout.split('\n').length;
  await service.printed(new RegExp(`^${before + 20} `, 'm'));
  expect(service.hasEnded).toBe(false);
  expect(service.stderr).toBe('');
  expect(await keys.list()).toStrictEqual(
    Array.from({ length: 5 }, (_, n) => aKey(n + 1, { revokedAt: now, lastUsedAt: now })),
  );
  expect(countPets(otherConnection(file))).toBeGreaterThan(40n);
});

it('a command for API keys makes no checkpoint, because the running service makes all of them', async () => {
  const { file } = await newService();
  const { keys } = await closeAfterTest(openKeys(file));
  const other = otherConnection(file);
  other.exec(
    'PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (b BLOB); INSERT INTO t VALUES (zeroblob(8388608))',
  );

  await keys.insert(aKey(1));

  expect(copiedPages(other)).toBe(0n);
});

/** Does what a service does before it creates the schema. */
async function beginStart() {
  const file = await newPath();
  const db = otherConnection(file);
  const lock = (await takeServiceLock(file))!;
  onTestFinished(() => lock[Symbol.dispose]());
  makeDurable(db);
  return { file, db, lock };
}

it('a command for API keys waits until a starting service has recovered the file', async () => {
  const { file, db, lock } = await beginStart();
  const opening = closeAfterTest(openKeys(file));
  migrateSchema(db);
  await expectPending(opening);

  lock.exec('ROLLBACK; BEGIN IMMEDIATE');

  expect(await (await opening).keys.list()).toStrictEqual([]);
});

it('an invalid date is refused as the expiry, revocation or use of an API key, which would never expire with it', async () => {
  const { keys } = await closeAfterTest(openKeys(await newPath()));
  const invalid = new Date(Number.NaN);
  await keys.insert(aKey(1, { expiresAt: now }));

  await expect(keys.expire(aKey(1).id, invalid)).rejects.toThrow(RangeError);
  await expect(keys.revoke(aKey(1).id, invalid)).rejects.toThrow(RangeError);
  await expect(keys.recordUse(new Map([[aKey(1).id, invalid]]))).rejects.toThrow(RangeError);
  await expect(keys.insert(aKey(2, { expiresAt: invalid }))).rejects.toThrow(RangeError);

  expect(await keys.list()).toStrictEqual([aKey(1, { expiresAt: now })]);
});
