import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { sqliteProbe } from '../../../src/adapters/sqlite/probe.ts';
import { SCHEMA_VERSION } from '../../../src/adapters/sqlite/schema.ts';
import { transaction } from '../../../src/adapters/sqlite/connection.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { numbers } from '../../support/numbers.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { newCommitQueue, newDatabase, otherConnection, takeWriteLock } from '../../support/sqlite.ts';

describe('the probe of a SQLite file', () => {
  it('fails while no row can be written', async () => {
    const { db, probe } = await openProbe();
    db.exec('PRAGMA query_only = ON');
    await expect(probe.check()).rejects.toStrictEqual(
      new StorageUnavailable('SQLite is unavailable: attempt to write a readonly database'),
    );

    db.exec('PRAGMA query_only = OFF');
    expect(await probe.check()).toStrictEqual({ lastId: 0n });
  });

  it('fails when pets cannot be read', async () => {
    const { file, probe } = await openProbe();
    otherConnection(file).exec('DROP TABLE pets');

    await expect(probe.check()).rejects.toThrow(StorageUnavailable);
  });

  it('fails after its deadline when another program keeps the file locked', async () => {
    const clock = fakeClock('setTimeout', 'clearTimeout');
    const { file, probe } = await openProbe();
    const other = takeWriteLock(file);

    const checking = probe.check();
    clock.advance(1_500);

    await expect(checking).rejects.toThrow(StorageUnavailable);
    other.exec('COMMIT');
  });

  it('fails after a newer build has migrated the file', async () => {
    const { file, probe } = await openProbe();
    otherConnection(file).exec(`PRAGMA user_version = ${SCHEMA_VERSION + 1}`);

    await expect(probe.check()).rejects.toThrow(`has schema version ${SCHEMA_VERSION + 1}`);
    using other = new DatabaseSync(file);
    expect(other.prepare('PRAGMA user_version').get()).toEqual({ user_version: SCHEMA_VERSION + 1 });
  });
});

it('the probe of a SQLite file returns the last id, writes as many pages as an insert, and adds neither a pet nor an id', async () => {
  const { file, db, probe } = await openProbe();
  const insert = `INSERT INTO pets (name, category_id, status, idempotency_key, fingerprint)
    VALUES ('Rex', 7, 'sold', randomblob(32), randomblob(32))`;
  const written = async (work: () => unknown) => {
    const before = statSync(`${file}-wal`).size;
    await work();
    return statSync(`${file}-wal`).size - before;
  };
  transaction(db, () => numbers(500).forEach(() => db.exec(insert)));
  const state = () => db.prepare('SELECT *, (SELECT seq FROM sqlite_sequence) FROM pets').all();
  const before = state();
  // An insert writes a page of the table, of its two indexes and of the sequence. A random key sometimes splits a page
  // of its index, too.
  const pagesOfInsert = 4 * 4096;
  expect(await written(() => db.exec(insert.replace('Rex', 'Tom')))).toBeGreaterThan(pagesOfInsert);
  db.exec("DELETE FROM pets WHERE name = 'Tom'; UPDATE sqlite_sequence SET seq = 500");
  expect(await written(() => probe.check())).toBeGreaterThan(pagesOfInsert);
  expect(state()).toStrictEqual(before);

  db.exec('UPDATE sqlite_sequence SET seq = 9007199254740991');
  expect(await probe.check()).toStrictEqual({ lastId: 9_007_199_254_740_991n });
});

async function openProbe() {
  const { file, db } = await newDatabase();
  return { file, db, probe: sqliteProbe(db, newCommitQueue(db).write) };
}
