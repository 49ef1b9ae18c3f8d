import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { SqlitePetRepository } from '../../../src/adapters/sqlite/pet-repository.ts';
import { ReadCache } from '../../../src/adapters/sqlite/read-cache.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { Idempotency } from '../../../src/application/ports/pet-repository.ts';
import type { NewPet } from '../../../src/domain/pet.ts';
import { aKey, at } from '../../support/api-keys.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import {
  countCommits,
  newCommitQueue,
  countPets,
  newDatabase,
  newService,
  otherConnection,
  takeWriteLock,
} from '../../support/sqlite.ts';
import { numbers } from '../../support/numbers.ts';
import { rex } from '../../support/pets.ts';
import { storageHost } from '../../support/storage-host.ts';

it('the inserts of two turns of the event loop share a commit, which the meter receives before any insert resolves', async () => {
  const reports: number[] = [];
  const meter = {
    insertsCommitted: (inserts: number) => void reports.push(inserts),
    connection() {},
    log() {},
  };
  const { file, pets, queue } = await openQueue({ meter });
  const before = await countCommits(file);
  const insert = async () => {
    await pets.insert(rex);
    expect(reports).toStrictEqual([51]);
  };

  const first = numbers(50).map(insert);
  await turn();
  await Promise.all([...first, insert()]);

  expect(await countCommits(file)).toBe(before + 1);
  await queue.write(() => undefined);
  await pets.insert(rex);
  expect(reports).toStrictEqual([51, 1]);
});

it('a change of an API key is made before later inserts, and they succeed when it fails', async () => {
  const { db, pets, queue } = await openQueue();
  const failing = queue.write(() => db.exec('?')).catch(String);
  const [stored, , failed] = await Promise.all([queue.write(() => countPets(db)), pets.insert(rex), failing]);
  expect([stored, failed]).toStrictEqual([0n, expect.stringContaining('syntax error')]);
});

it('a write that times out during a checkpoint is never stored', async () => {
  const { disk, db, pets } = await openQueueOnHeldDisk({ timeoutMs: 50 });
  const checkpoint = Promise.withResolvers<void>();
  disk.checkpointIfDue = () => checkpoint.promise;
  await expect(pets.insert(rex)).rejects.toThrow('was not stored');
  checkpoint.resolve();
  await turns();
  expect(countPets(db)).toBe(0n);
});

const idempotency = idempotencyFor('a');

it.each<readonly [string, NewPet, Idempotency | undefined, string]>([
  ['an unknown status', { ...rex, status: 'lost' as NewPet['status'] }, undefined, 'constraint'],
  ['an integer beyond int64', { ...rex, categoryId: 2n ** 63n }, undefined, 'too large'],
  ['a key that is not a SHA-256', rex, { ...idempotency, key: 'no hash' }, 'constraint'],
  ['a fingerprint that is not a SHA-256', rex, { ...idempotency, fingerprint: '' }, 'constraint'],
])('an insert that the table refuses fails alone: %s', async (_, pet, key, message) => {
  const { db, pets } = await openQueue();

  const [before, refused, after] = await Promise.allSettled([
    pets.insert(rex),
    key === undefined ? pets.insert(pet) : pets.insertOnce(pet, key),
    pets.insert(rex),
  ]);

  expect(before).toStrictEqual({ status: 'fulfilled', value: { id: 1n, ...rex } });
  expect(after.status).toBe('fulfilled');
  expect(refused).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining(message) },
  });
  // Such an insert is a bug of the program, so the error does not blame the storage.
  expect(refused).not.toMatchObject({ reason: { kind: 'storage-unavailable' } });
  expect(countPets(db)).toBe(2n);
});

it('a failure that no single row causes fails the batch with its own error, and nothing of the batch is stored', async () => {
  const { file, db, pets } = await openQueue();
  const other = otherConnection(file);
  other.exec('ALTER TABLE pets RENAME TO gone');

  const outcomes = await Promise.allSettled([pets.insert(rex), pets.insertOnce(rex, idempotencyFor('a'))]);

  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'ERR_SQLITE_ERROR', errcode: 1 } });
  }
  expect(db.isTransaction).toBe(false);

  other.exec('ALTER TABLE gone RENAME TO pets');
  const next = await pets.insertOnce(rex, idempotencyFor('a'));
  expect(next).toStrictEqual({ pet: { id: 1n, ...rex }, replayed: false });
});

/** The queue waits only for a lock. If it waited because of a full disk, this deadline would make the test time out. */
const FOREVER_MS = 1e9;

it('a full disk fails the whole batch immediately with an error that names the file, and a batch succeeds when there is space', async () => {
  const { db, pets } = await openQueue({ timeoutMs: FOREVER_MS });
  const first = await pets.insert(rex);
  db.exec('PRAGMA max_page_count = 10');

  const outcomes = await Promise.allSettled(
    numbers(1000).map((n) => pets.insertOnce(rex, idempotencyFor(`${n}`))),
  );

  const cause = { message: expect.stringMatching(/full \(\/.*\.db\)$/) };
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { kind: 'storage-unavailable', cause } });
  }
  expect(countPets(db)).toBe(1n);
  expect(db.isTransaction).toBe(false);

  db.exec('PRAGMA max_page_count = 4294967294');
  const later = await Promise.all(numbers(1000).map((n) => pets.insertOnce(rex, idempotencyFor(`${n}`))));
  expect(later.filter(({ replayed }) => replayed)).toStrictEqual([]);
  expect(new Set(later.map(({ pet }) => pet.id)).size).toBe(1000);
  for (const { pet } of later) expect(pet.id).toBeGreaterThan(first.id);
  expect(countPets(db)).toBe(1001n);
}, 20_000);

it('a file that another program has locked delays writes, while the event loop and reads continue', async () => {
  const { file, pets, keys } = await newService();
  const pet = await pets.insert(rex);
  await keys.insert(aKey());
  const other = takeWriteLock(file);

  let settled = 0;
  const inserting = numbers(3).map(() => pets.insert(rex).finally(() => settled++));
  const revoking = keys.revoke(aKey().id, at(1)).finally(() => settled++);
  for (let n = 0; n < 100; n++) {
    await turn();
    expect(await pets.list({ limit: 10 })).toStrictEqual([pet]);
    expect(await keys.findById(aKey().id)).toStrictEqual(aKey());
    expect(await keys.list()).toStrictEqual([aKey()]);
  }
  expect(settled).toBe(0);

  other.exec('COMMIT');
  const inserted = await Promise.all(inserting);
  expect(await pets.list({ limit: 10 })).toStrictEqual([pet, ...inserted]);
  expect(await revoking).toStrictEqual(aKey(1, { revokedAt: at(1) }));
});

it('a close waits for every flush, and after 1 s logs that only SIGKILL may end the process', async () => {
  const clock = fakeClock('setTimeout', 'clearTimeout');
  const { disk, pets, queue, warnings } = await openQueueOnHeldDisk();
  const first = pets.insert(rex);
  await turns();
  const second = pets.insert(rex);
  let isClosed = false;
  const closing = queue.close().finally(() => (isClosed = true));
  const afterClose = pets.insert(rex).catch(String);
  await turns();
  clock.advance(1_000);
  disk.flushes[0]?.resolve();
  await first;
  await turns();
  expect(isClosed).toBe(false);

  disk.flushes[1]?.resolve();

  await Promise.all([closing, second]);
  expect(disk.flushes).toHaveLength(2);
  expect(await afterClose).toContain('the storage is closed');
  await queue.close();
  expect(vi.getTimerCount()).toBe(0);
  expect(warnings).toStrictEqual([expect.stringMatching(/^the disk does not confirm .* SIGKILL$/)]);
});

describe('a pet that is committed but not yet on the disk', () => {
  it('is acknowledged and shown to clients only when a flush that began after its commit has ended', async () => {
    const { disk, file, pets } = await openQueueOnHeldDisk();
    const first = pets.insertOnce(rex, idempotencyFor('a'));
    await turns();
    const replay = pets.insertOnce(rex, idempotencyFor('a'));
    const reused = pets.insertOnce(rex, idempotencyFor('a', 'another body'));
    const settled: string[] = [];
    for (const [name, write] of Object.entries({ first, replay, reused })) {
      write.catch(() => {}).finally(() => settled.push(name));
    }
    const read = async () => [
      await pets.findById(1n),
      await pets.list({ limit: 1 }),
      await pets.list({ limit: 1, status: rex.status }),
    ];
    await turns();
    expect(countPets(otherConnection(file))).toBe(1n);
    for (let n = 0; n < 3; n++) expect(await read()).toStrictEqual([undefined, [], []]);
    expect([disk.flushes.length, settled]).toStrictEqual([2, []]);

    disk.flushes[0]?.resolve();

    const pet = { id: 1n, ...rex };
    expect(await first).toStrictEqual({ pet, replayed: false });
    expect(await read()).toStrictEqual([pet, [pet], [pet]]);
    await turns();
    expect(settled).toStrictEqual(['first']);
    disk.flushes[1]?.resolve();
    expect(await replay).toStrictEqual({ pet, replayed: true });
    await expect(reused).rejects.toMatchObject({ kind: 'idempotency-key-reused' });

    const secondReplay = pets.insertOnce(rex, idempotencyFor('a'));
    await turns();
    expect([disk.flushes.length, await read()]).toStrictEqual([3, [pet, [pet], [pet]]]);
    disk.flushes[2]?.resolve();
    await secondReplay;
  });

  it('shares its flush with all pets that arrive while two flushes run', async () => {
    const { disk, file, pets } = await openQueueOnHeldDisk();
    const before = await countCommits(file);
    const inserting = [];
    for (let n = 0; n < 5; n++) {
      inserting.push(pets.insert(rex));
      await turns();
    }
    expect([disk.flushes.length, await countCommits(file)]).toStrictEqual([2, before + 2]);

    // The second flush ends first. This flush began after both commits, so both pets are on the disk.
    disk.flushes[1]?.resolve();
    await inserting[1];
    expect(await pets.list({ limit: 9 })).toHaveLength(2);
    await turns();
    expect([disk.flushes.length, await countCommits(file)]).toStrictEqual([3, before + 3]);
    // The first flush ends. This flush began before the third commit, so it proves nothing about the later pets.
    disk.flushes[0]?.resolve();
    await turns();
    expect(await pets.list({ limit: 9 })).toHaveLength(2);
    disk.flushes[2]?.resolve();

    expect(await Promise.all(inserting)).toHaveLength(5);
  });

  it('is acknowledged only if every file still has its place after the flush', async () => {
    let isRemoved = false;
    const after = () => {
      if (isRemoved) throw new StorageUnavailable('removed');
    };
    const { disk, pets } = await openQueueOnHeldDisk({ guard: { before() {}, after } });
    const inserting = pets.insert(rex);
    await turns();
    isRemoved = true;
    disk.flushes[0]?.resolve();

    await expect(inserting).rejects.toThrow('removed');
  });
});

it('a sync that fails in a commit ends the process before any write is answered', async () => {
  const answers: unknown[] = [];
  const ends: unknown[] = [];
  const fatal = (message: string) => void ends.push(message, answers.length) as never;
  const { queue } = await openQueueOnHeldDisk({ host: { warn() {}, fatal } });
  // A commit can fail so, because the first commit after a checkpoint syncs the header of the log.
  const write = queue.write(() => {
    throw Object.assign(new Error('disk I/O error'), { errcode: 1034 });
  });

  answers.push(await write.catch(String));

  expect(ends).toStrictEqual([
    expect.stringMatching(
      /^a sync has failed: disk I\/O error \(\/.*\.db\); this process ends without closing the file; /,
    ),
    0,
  ]);
});

it('writes fail after 10 s when a flush does not end, and only the error of a committed write says "may be stored"', async () => {
  const clock = fakeClock('setTimeout', 'clearTimeout');
  const { disk, db, pets } = await openQueueOnHeldDisk();
  const committed = pets.insertOnce(rex, idempotencyFor('a'));
  await turns();
  void pets.insertOnce(rex, idempotencyFor('b')).catch(() => {});
  await turns();
  const waiting = pets.insertOnce(rex, idempotencyFor('c'));
  await turns();

  clock.advance(9_999);
  await turns();
  clock.advance(1);

  await expect(committed).rejects.toThrow('has taken more than 10000 ms and may be stored');
  await expect(waiting).rejects.toThrow('has taken more than 10000 ms and was not stored');
  disk.flush = async () => {};
  for (const flush of disk.flushes) flush.resolve();
  await turns();
  expect(await pets.insertOnce(rex, idempotencyFor('a'))).toMatchObject({ replayed: true });
  expect(await pets.insertOnce(rex, idempotencyFor('c'))).toMatchObject({ replayed: false });
  expect(countPets(db)).toBe(3n);
});

/** A disk whose flushes end when the test resolves them. */
class HeldDisk {
  readonly flushes: PromiseWithResolvers<void>[] = [];

  flush = async () => {
    const flush = Promise.withResolvers<void>();
    this.flushes.push(flush);
    return flush.promise;
  };

  checkpointIfDue = async () => {};
}

/** Waits for enough turns of the event loop for a commit and for the answers after its flush. */
async function turns(): Promise<void> {
  for (let n = 0; n < 10; n++) await turn();
}

async function openQueue(options: Parameters<typeof newCommitQueue>[1] = {}) {
  const { file, db } = await newDatabase();
  const queue = newCommitQueue(db, options);
  return { file, db, queue, pets: new SqlitePetRepository(db, queue, new ReadCache(db)) };
}

async function openQueueOnHeldDisk(options: Parameters<typeof newCommitQueue>[1] = {}) {
  const disk = new HeldDisk();
  const warnings: string[] = [];
  const host = storageHost((line) => void warnings.push(line));
  return { disk, warnings, ...(await openQueue({ disk, host, ...options })) };
}
