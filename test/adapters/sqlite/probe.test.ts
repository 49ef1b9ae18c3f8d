import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { type Guard, unguarded } from '../../../src/adapters/sqlite/open-files.ts';
import { SqliteProbe } from '../../../src/adapters/sqlite/probe.ts';
import { migrate, SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { commits, newFile, stranger } from '../../support/sqlite.ts';

/** Longer than an outcome is good for. */
const ASK_AGAIN_MS = 1_050;

describe('the probe of a SQLite file', () => {
  it('writes a transaction, and leaves the schema and its version as they are', async () => {
    const { file, db, probe } = await opened();
    const before = await commits(file);
    const schema = db.prepare('SELECT * FROM sqlite_schema').all();

    await probe.check();

    expect(await commits(file)).toBe(before + 1);
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: BigInt(SCHEMA_VERSION) });
    expect(db.prepare('SELECT * FROM sqlite_schema').all()).toStrictEqual(schema);
  });

  it('does so once in a second, however often it is asked', async () => {
    const { file, probe } = await opened();
    const before = await commits(file);

    await Promise.all(Array.from({ length: 100 }, () => probe.check()));
    for (let n = 0; n < 100; n++) await probe.check();
    expect(await commits(file)).toBe(before + 1);

    await sleep(ASK_AGAIN_MS);
    await probe.check();
    expect(await commits(file)).toBe(before + 2);
  });

  it('fails when nothing can be written, and not when it can again', async () => {
    const { db, probe } = await opened();
    db.exec('PRAGMA query_only = ON');
    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
    await expect(probe.check()).rejects.toThrow('the SQLite file cannot be read and written');

    db.exec('PRAGMA query_only = OFF');
    await sleep(ASK_AGAIN_MS);
    expect(await probe.check()).toBeUndefined();
  });

  it('fails when pets cannot be read', async () => {
    const { file, probe } = await opened();
    stranger(file).exec('DROP TABLE pets');

    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
  });

  it('fails when the guard does', async () => {
    const { probe } = await opened(() => {
      throw new StorageUnavailable('gone');
    });

    await expect(probe.check()).rejects.toThrow('gone');
  });

  it('waits for another program that holds the file for a moment', async () => {
    const { file, probe } = await opened();
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    let isOver = false;
    const checking = probe.check().finally(() => (isOver = true));
    for (let n = 0; n < 100; n++) await new Promise(setImmediate);
    expect(isOver).toBe(false);
    other.exec('COMMIT');

    expect(await checking).toBeUndefined();
  });

  it('fails, and soon, when another program does not let go of it', async () => {
    const { file, probe } = await opened();
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');
    const begun = performance.now();

    await expect(probe.check()).rejects.toThrow(StorageUnavailable);

    expect(performance.now() - begun).toBeLessThan(15_000);
    other.exec('COMMIT');
  });

  it('fails when the file belongs to another version by now', async () => {
    const { file, probe } = await opened();
    stranger(file).exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);

    await expect(probe.check()).rejects.toThrow(`has schema version ${SCHEMA_VERSION + 1}`);
    using other = new DatabaseSync(file);
    expect(other.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION + 1 });
  });
});

async function opened(guard: Guard = unguarded) {
  const file = await newFile();
  const db = connect(file, { readOnly: false });
  onTestFinished(() => db.close());
  makeDurable(db);
  migrate(db);
  return { file, db, probe: new SqliteProbe(db, guard) };
}
