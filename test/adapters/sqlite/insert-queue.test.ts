import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { InsertQueue } from '../../../src/adapters/sqlite/insert-queue.ts';
import { SqlitePetRepository } from '../../../src/adapters/sqlite/pet-repository.ts';
import { ReadCache } from '../../../src/adapters/sqlite/read-cache.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { StorageMeter } from '../../../src/application/ports/storage-health.ts';
import { type NewPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { commits, count, newDatabase, otherConnection, unguardedWrite } from '../../support/sqlite.ts';
import { rex } from '../../support/pets.ts';

describe('group commit', () => {
  it('puts the inserts of two turns into one transaction', async () => {
    const { file, queue } = await opened();
    const before = await commits(file);

    const first = times(50, () => queue.add(rex));
    await turn();
    await Promise.all([...first, queue.add(rex)]);

    expect(await commits(file)).toBe(before + 1);
  });

  it('reports how many inserts shared a commit, before any of them resolves', async () => {
    const { queue, reports } = await metered();

    await Promise.all(
      times(50, async () => {
        await queue.add(rex);
        expect(reports).toStrictEqual([50]);
      }),
    );
    await queue.add(rex);

    expect(reports).toStrictEqual([50, 1]);
  });

  it('reports nothing when a commit fails', async () => {
    const { file, queue, reports } = await metered(20);
    const other = otherConnection(file);
    other.exec('BEGIN IMMEDIATE');

    await expect(queue.add(rex)).rejects.toThrow(StorageUnavailable);

    expect(reports).toStrictEqual([]);
  });

  it('shows other programs the whole batch or nothing, before any insert resolves', async () => {
    const { file, queue } = await opened();
    const other = otherConnection(file);
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
  const idempotency = idempotencyFor('a');

  it.each<readonly [string, Parameters<InsertQueue['add']>, string]>([
    ['an unknown status', [{ ...rex, status: 'lost' as NewPet['status'] }], 'constraint'],
    ['an integer beyond int64', [{ ...rex, categoryId: 2n ** 63n }], 'too large'],
    ['a key that is not a SHA-256', [rex, { ...idempotency, key: 'no hash' }], 'constraint'],
    ['a fingerprint that is not a SHA-256', [rex, { ...idempotency, fingerprint: '' }], 'constraint'],
  ])('fails alone: %s', async (_, wrong, message) => {
    const { db, queue } = await opened();

    const [before, refused, after] = await Promise.allSettled([
      queue.add(rex),
      queue.add(...wrong),
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
    // A bug: neither the client nor the disk is at fault.
    expect(refused).not.toMatchObject({ reason: { kind: 'storage-unavailable' } });
    expect(count(db)).toBe(2n);
  });
});

describe('a failure that no single row causes', () => {
  it('fails the whole batch with the original error, and leaves nothing behind', async () => {
    const { file, db, queue } = await opened();
    const other = otherConnection(file);
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

/** Only a lock is worth a wait. If the queue waited for anything else, this deadline would make the test time out. */
const FOREVER_MS = 1e9;

describe('a full disk', () => {
  it('fails the whole batch at once, and the next batch succeeds when there is space', async () => {
    const { db, queue } = await opened(FOREVER_MS);
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
});

describe('a file that another program has locked', () => {
  it('makes inserts wait, while the event loop and reads continue', async () => {
    const { file, db, queue } = await opened();
    const pets = new SqlitePetRepository(db, queue, new ReadCache(db));
    const pet = await pets.insert(rex);
    const other = otherConnection(file);
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

  it('never blocks the event loop', async () => {
    const { db } = await opened();

    expect(db.prepare('PRAGMA busy_timeout').get()).toEqual({ timeout: 0n });
  });

  it('fails inserts after their deadline, and the next one succeeds when the lock is gone', async () => {
    const { file, db, queue } = await opened(20);
    const other = otherConnection(file);
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
    const clock = fakeClock();
    const { file, queue } = await opened(600);
    const other = otherConnection(file);
    other.exec('BEGIN IMMEDIATE');

    const early = queue.add(rex);
    clock.advance(300);
    const late = queue.add(rex);
    clock.advance(300);
    await expect(early).rejects.toThrow(StorageUnavailable);
    other.exec('COMMIT');

    expect((await late).pet).toStrictEqual({ id: 1n, ...rex });
  });

  it('lets at most 10,000 inserts wait', async () => {
    const { file, db, queue } = await opened();
    const other = otherConnection(file);
    other.exec('BEGIN IMMEDIATE');

    const waiting = times(10_000, () => queue.add(rex));
    await expect(queue.add(rex)).rejects.toStrictEqual(
      new StorageUnavailable('10000 inserts are waiting already'),
    );
    other.exec('COMMIT');

    await Promise.all(waiting);
    expect(count(db)).toBe(10_000n);
    await queue.add(rex);
  });
});

describe('close', () => {
  it('waits for the inserts in progress and refuses new ones', async () => {
    const { file, queue } = await opened();
    const other = otherConnection(file);
    other.exec('BEGIN IMMEDIATE');

    let closed = false;
    const inserting = times(3, () => queue.add(rex));
    const closing = queue.close().finally(() => (closed = true));
    await expect(queue.add(rex)).rejects.toStrictEqual(new StorageUnavailable('the storage is closed'));
    for (let n = 0; n < 100; n++) await turn();
    expect(closed).toBe(false);

    other.exec('COMMIT');
    await closing;
    await Promise.all(inserting);
    expect(count(other)).toBe(3n);
  });
});

async function opened(deadlineMs?: number): Promise<{ file: string; db: DatabaseSync; queue: InsertQueue }> {
  const { file, db } = await newDatabase();
  return { file, db, queue: new InsertQueue(db, unguardedWrite(db), undefined, deadlineMs) };
}

async function metered(deadlineMs?: number) {
  const { file, db } = await newDatabase();
  const reports: number[] = [];
  const meter: StorageMeter = {
    insertsCommitted: (inserts) => reports.push(inserts),
    connection: () => reports.push(NaN),
  };
  return { file, queue: new InsertQueue(db, unguardedWrite(db), meter, deadlineMs), reports };
}

function times<T>(n: number, make: (index: number) => T): T[] {
  return Array.from({ length: n }, (_, index) => make(index));
}
