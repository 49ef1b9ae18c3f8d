import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { InsertQueue, MAX_WAITING } from '../../../src/adapters/sqlite/insert-queue.ts';
import { SqlitePetRepository } from '../../../src/adapters/sqlite/pet-repository.ts';
import { migrate } from '../../../src/adapters/sqlite/schema.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { type NewPet, newPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { run } from '../../support/process.ts';
import { commits, count, newFile, stranger } from '../../support/sqlite.ts';

const rex = newPet({ name: 'Rex', categoryId: 7n });

describe('group commit', () => {
  it('is one transaction for the inserts of one turn', async () => {
    const { file, queue } = await opened();
    const before = await commits(file);

    await Promise.all(times(50, () => queue.add(rex)));

    expect(await commits(file)).toBe(before + 1);
  });

  it('is another transaction in the next turn', async () => {
    const { file, queue } = await opened();
    const before = await commits(file);

    const first = times(10, () => queue.add(rex));
    await Promise.all(first);
    await Promise.all(times(10, () => queue.add(rex)));

    expect(await commits(file)).toBe(before + 2);
  });

  it('lets nobody else see a part of it, nor its caller know of it before everybody can see it', async () => {
    const { file, queue } = await opened();
    const other = stranger(file);
    const seen: bigint[] = [];

    const inserting = times(50, async () => {
      await queue.add(rex);
      seen.push(count(other));
    });
    const during = count(other);
    await Promise.all(inserting);

    expect(during).toBe(0n);
    expect(seen).toStrictEqual(times(50, () => 50n));
  });
});

describe('an insert that the table refuses', () => {
  it.each([
    ['a status that is none', { ...rex, status: 'lost' as NewPet['status'] }, Error, 'constraint'],
    ['an integer beyond int64', { ...rex, categoryId: 2n ** 63n }, TypeError, 'too large'],
  ])('fails alone: %s', async (_, wrong, kind, message) => {
    const { db, queue } = await opened();

    const [before, refused, after] = await Promise.allSettled([
      queue.add(rex),
      queue.add(wrong),
      queue.add(rex),
    ]);

    expect(before).toStrictEqual({
      status: 'fulfilled',
      value: { pet: { id: 1n, ...rex }, replayed: false },
    });
    expect(after.status).toBe('fulfilled');
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringContaining(message) },
    });
    // Neither the client nor the disk is to blame.
    const reason: unknown = 'reason' in refused ? refused.reason : undefined;
    expect(reason).toBeInstanceOf(kind);
    expect(reason).not.toBeInstanceOf(StorageUnavailable);
    expect(count(db)).toBe(2n);
  });

  it.each([
    ['key', { ...idempotencyFor('a'), key: 'no hash' }],
    ['fingerprint', { ...idempotencyFor('a'), fingerprint: '' }],
  ])('fails alone: a %s that is no SHA-256', async (_, idempotency) => {
    const { db, queue } = await opened();

    const outcomes = await Promise.allSettled([
      queue.add(rex, idempotency),
      queue.add(rex, idempotencyFor('b')),
    ]);

    expect(outcomes.map(({ status }) => status)).toStrictEqual(['rejected', 'fulfilled']);
    expect(count(db)).toBe(1n);
  });
});

describe('a failure that no row is to blame for', () => {
  it('fails the whole batch as what it is, and leaves nothing behind', async () => {
    const { file, db, queue } = await opened();
    const other = stranger(file);
    other.exec('ALTER TABLE pets RENAME TO gone');

    const outcomes = await Promise.allSettled([queue.add(rex), queue.add(rex, idempotencyFor('a'))]);

    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ERR_SQLITE_ERROR', errcode: 1 } });
    }
    expect(db.isTransaction).toBe(false);

    other.exec('ALTER TABLE gone RENAME TO pets');
    const next = await queue.add(rex, idempotencyFor('a'));
    expect(next).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
  });
});

// Only a lock is waited for: with this deadline a test that waited for anything else would not end.
const AGES = { deadlineMs: 1e9 };

describe('a full disk', () => {
  it('fails the whole batch at once, and not the next one when there is room', async () => {
    const { db, queue } = await opened(AGES);
    const first = await queue.add(rex);
    db.exec('PRAGMA max_page_count = 10');

    const outcomes = await Promise.allSettled(times(1000, (n) => queue.add(rex, idempotencyFor(`${n}`))));

    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'storage-unavailable' } });
    }
    expect(count(db)).toBe(1n);
    expect(db.isTransaction).toBe(false);

    db.exec('PRAGMA max_page_count = 4294967294');
    const next = await Promise.all(times(1000, (n) => queue.add(rex, idempotencyFor(`${n}`))));
    expect(next.filter(({ replayed }) => replayed)).toStrictEqual([]);
    expect(new Set(next.map(({ pet }) => pet.id)).size).toBe(1000);
    for (const { pet } of next) expect(pet.id).toBeGreaterThan(first.pet.id);
    expect(count(db)).toBe(1001n);
  });

  it('leaves reads alone', async () => {
    const { db, queue } = await opened();
    const pets = new SqlitePetRepository(db, queue);
    const pet = await pets.insert(rex);
    db.exec('PRAGMA max_page_count = 1');

    await Promise.allSettled(times(1000, () => pets.insert(rex)));

    expect(await pets.findById(pet.id)).toStrictEqual(pet);
    expect(await pets.list({ limit: 2 })).toStrictEqual([pet]);
  });
});

describe('a COMMIT that fails', () => {
  it('fails the whole batch at once, and not the next one when the disk works', async ({ skip }) => {
    if (process.platform !== 'linux') skip('prlimit, which makes a write fail, is of Linux');
    const { file, db, queue } = await opened(AGES);
    const first = await queue.add(rex, idempotencyFor('first'));

    await limitFileSize(`${statSync(`${file}-wal`).size + 100}`);
    const outcomes = await Promise.allSettled(times(20, (n) => queue.add(rex, idempotencyFor(`${n}`))));
    const whileBroken = count(db);
    await limitFileSize('unlimited');

    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        status: 'rejected',
        reason: { kind: 'storage-unavailable', cause: { errcode: 778 } },
      });
    }
    expect(whileBroken).toBe(1n);
    expect(count(stranger(file))).toBe(1n);

    const next = await Promise.all(times(20, (n) => queue.add(rex, idempotencyFor(`${n}`))));
    expect(next.map(({ replayed }) => replayed)).toStrictEqual(times(20, () => false));
    expect(new Set([first, ...next].map(({ pet }) => pet.id)).size).toBe(21);
    expect(await queue.add(rex, idempotencyFor('first'))).toStrictEqual({ ...first, replayed: true });
    expect(count(stranger(file))).toBe(21n);
  });
});

describe('a file that another program has locked', () => {
  it('makes inserts wait, while the event loop and the reads go on', async () => {
    const { file, db, queue } = await opened();
    const pets = new SqlitePetRepository(db, queue);
    const pet = await pets.insert(rex);
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    let settled = 0;
    const inserting = times(3, () => queue.add(rex).finally(() => settled++));
    for (let n = 0; n < 100; n++) {
      await turn();
      expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
    }
    expect(settled).toBe(0);

    other.exec('COMMIT');
    const inserted = await Promise.all(inserting);
    expect(await pets.list({ limit: 10 })).toStrictEqual([pet, ...inserted.map((one) => one.pet)]);
  });

  it('is never waited for by blocking', async () => {
    const { db } = await opened();

    expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: 0n });
  });

  it('fails inserts after their deadline, and not the next one once it is free', async () => {
    const { file, db, queue } = await opened({ deadlineMs: 20 });
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    const outcomes = await Promise.allSettled(times(3, () => queue.add(rex)));
    other.exec('COMMIT');

    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'storage-unavailable' } });
    }
    expect(count(db)).toBe(0n);
    expect((await queue.add(rex)).pet.id).toBe(1n);
  });

  it('gives every insert its own deadline', async () => {
    const { file, queue } = await opened({ deadlineMs: 600 });
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    const early = queue.add(rex);
    await sleep(300);
    const late = queue.add(rex);
    await expect(early).rejects.toThrow(StorageUnavailable);
    other.exec('COMMIT');

    expect((await late).pet).toStrictEqual({ id: 1n, ...rex });
  });

  it('lets no more than a bounded number of inserts wait', async () => {
    const { file, db, queue } = await opened();
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    const waiting = times(MAX_WAITING, () => queue.add(rex));
    await expect(queue.add(rex)).rejects.toThrow(StorageUnavailable);
    other.exec('COMMIT');

    await Promise.all(waiting);
    expect(count(db)).toBe(BigInt(MAX_WAITING));
    await queue.add(rex);
  });
});

describe('close', () => {
  it('waits for the inserts that are under way and takes no more', async () => {
    const { file, queue } = await opened();
    const other = stranger(file);
    other.exec('BEGIN IMMEDIATE');

    let closed = false;
    const inserting = times(3, () => queue.add(rex));
    const closing = queue.close().finally(() => (closed = true));
    await expect(queue.add(rex)).rejects.toThrow(StorageUnavailable);
    for (let n = 0; n < 100; n++) await turn();
    expect(closed).toBe(false);

    other.exec('COMMIT');
    await closing;
    await Promise.all(inserting);
    expect(count(other)).toBe(3n);
  });
});

async function opened({ deadlineMs }: { readonly deadlineMs?: number } = {}): Promise<{
  file: string;
  db: DatabaseSync;
  queue: InsertQueue;
}> {
  const file = await newFile();
  const db = connect(file, { readOnly: false });
  onTestFinished(() => db.close());
  makeDurable(db);
  migrate(db);
  return { file, db, queue: new InsertQueue(db, deadlineMs === undefined ? {} : { deadlineMs }) };
}

/** Of any file that this process writes, in bytes. The kernel refuses what goes beyond it. */
async function limitFileSize(bytes: string): Promise<void> {
  const { code } = await run('prlimit', ['--pid', `${process.pid}`, `--fsize=${bytes}:`]).ended;
  expect(code).toBe(0);
}

function times<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}
