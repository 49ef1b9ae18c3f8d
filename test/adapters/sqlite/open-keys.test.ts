import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SqliteApiKeyRepository } from '../../../src/adapters/sqlite/api-key-repository.ts';
import { connect, makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { openSqliteKeys, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { migrate, SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { StorageSetupError, StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { aKey } from '../../support/api-keys.ts';
import { count, fileOfVersion1, keyWriter, newFile, stranger, writer } from '../../support/sqlite.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });
const now = new Date(1_800_000_000_000);

describe('keys before the first start', () => {
  it('are there for the service, which may start while they are open', async () => {
    const file = join(dirname(await newFile()), 'data', 'petstore.db');
    const { keys } = await opened(openSqliteKeys(file));
    await keys.insert(aKey(1));

    const service = await opened(openSqliteStorage(file));

    expect(await service.keys.list()).toStrictEqual([aKey(1)]);
    expect(await service.pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
    await keys.insert(aKey(2));
    expect(await service.keys.findById(aKey(2).id)).toStrictEqual(aKey(2));
  });

  it('leave nothing but the file and its lock', async () => {
    const file = await newFile();
    const { close } = await openSqliteKeys(file);
    await close();

    expect((await readdir(dirname(file))).toSorted()).toStrictEqual(['petstore.db', 'petstore.db.lock']);
  });
});

describe('keys beside a service', () => {
  it('are made and revoked while it stores pets all the time', async () => {
    const file = await newFile();
    const service = writer(file, 8);
    await service.printed(/^100 /m);

    const { keys } = await opened(openSqliteKeys(file));
    for (let n = 1; n <= 20; n++) {
      await keys.insert(aKey(n));
      await keys.revoke(aKey(n).id, now);
      await keys.recordUse(new Map([[aKey(n).id, now]]));
    }

    const before = service.stdout.split('\n').length;
    await service.printed(new RegExp(`^${before + 100} `, 'm'));
    expect(service.over).toBe(false);
    expect(service.stderr).toBe('');
    expect(await keys.list()).toStrictEqual(
      Array.from({ length: 20 }, (_, n) => aKey(n + 1, { revokedAt: now, lastUsedAt: now })),
    );
    expect(count(stranger(file))).toBeGreaterThan(200n);
  });

  it('do not need its lock and do not take it', async () => {
    const file = await newFile();
    const first = await openSqliteStorage(file);
    await opened(openSqliteKeys(file));
    await opened(openSqliteKeys(file));
    await first.close();

    const { pets } = await opened(openSqliteStorage(file));

    expect(await pets.insert(rex)).toStrictEqual({ id: 1n, ...rex });
  });

  it('are durable on the disk', async () => {
    const file = await newFile();
    await opened(openSqliteStorage(file));
    const program = keyWriter(file);
    await program.printed(/^101 revoked$/m);
    await program.kill();

    const { keys } = await opened(openSqliteKeys(file));
    const list = await keys.list();
    const expected = Array.from({ length: 101 }, (_, index) => {
      const n = index + 1;
      return n % 2 === 0 ? aKey(n) : aKey(n, { revokedAt: new Date(n) });
    });
    expect(list.slice(0, 101)).toStrictEqual(expected);
    const acknowledged = program.stdout.split('\n').filter((line) => line.endsWith(' made'));
    expect(list.length).toBeGreaterThanOrEqual(acknowledged.length);
  });

  it('are refused while its schema is older, which is left as it is', async () => {
    const file = await fileOfVersion1([]);
    const older = stranger(file);
    const service = await openSqliteStorage(file);
    older.exec('PRAGMA user_version = 1');

    await expect(openSqliteKeys(file)).rejects.toThrow(StorageSetupError);
    await expect(openSqliteKeys(file)).rejects.toThrow(
      'is in use by another petstore service; stop that first',
    );
    expect(older.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1n });

    older.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
    await service.close();
    expect(await (await opened(openSqliteKeys(file))).keys.list()).toStrictEqual([]);
  });
});

describe('a file that another program holds', () => {
  const writes: readonly [string, (keys: ApiKeyRepository) => Promise<unknown>][] = [
    ['insert', async (keys) => keys.insert(aKey(2))],
    ['revoke', async (keys) => keys.revoke(aKey(1).id, now)],
    ['expire', async (keys) => keys.expire(aKey(1).id, now)],
    ['recordUse', async (keys) => keys.recordUse(new Map([[aKey(1).id, now]]))],
  ];

  it.each(writes)('makes a write wait, and only that: %s', async (_, write) => {
    const file = await newFile();
    const { keys } = await opened(openSqliteStorage(file));
    await keys.insert(aKey(1));
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    let written = false;
    const writing = write(keys).finally(() => (written = true));
    for (let n = 0; n < 100; n++) {
      await new Promise(setImmediate);
      expect(await keys.findById(aKey(1).id)).toStrictEqual(aKey(1));
    }
    expect(await keys.list()).toStrictEqual([aKey(1)]);
    expect(written).toBe(false);
    other.exec('COMMIT');
    await writing;

    expect(await keys.list()).not.toStrictEqual([aKey(1)]);
  });

  it.each(writes)('fails a write that has waited too long, and nothing is done: %s', async (_, write) => {
    const file = await newFile();
    const db = connect(file, { readOnly: false });
    onTestFinished(() => db.close());
    makeDurable(db);
    migrate(db);
    const keys = new SqliteApiKeyRepository(db, { deadlineMs: 50 });
    await keys.insert(aKey(1));
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    await expect(write(keys)).rejects.toThrow(StorageUnavailable);

    expect(await keys.findById(aKey(1).id)).toStrictEqual(aKey(1));
    other.exec('COMMIT');
    expect(await keys.list()).toStrictEqual([aKey(1)]);
  });
});

describe('an instant that is none', () => {
  it('is refused, because without an instant a key would be valid for ever', async () => {
    const { keys } = await opened(openSqliteKeys(await newFile()));
    const none = new Date(Number.NaN);
    await keys.insert(aKey(1, { expiresAt: now }));

    await expect(keys.expire(aKey(1).id, none)).rejects.toThrow(RangeError);
    await expect(keys.revoke(aKey(1).id, none)).rejects.toThrow(RangeError);
    await expect(keys.recordUse(new Map([[aKey(1).id, none]]))).rejects.toThrow(RangeError);
    await expect(keys.insert(aKey(2, { expiresAt: none }))).rejects.toThrow(RangeError);

    expect(await keys.list()).toStrictEqual([aKey(1, { expiresAt: now })]);
  });
});

/** Closed with the test. */
async function opened<T extends { close(): Promise<void> }>(opening: Promise<T>): Promise<T> {
  const open = await opening;
  onTestFinished(() => open.close());
  return open;
}
