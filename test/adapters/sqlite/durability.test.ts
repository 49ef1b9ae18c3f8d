import { describe, expect, it } from 'vitest';
import { connect, makeDurable } from '../../../src/adapters/sqlite/connection.ts';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { IdempotencyKeyReused } from '../../../src/application/pets/errors.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import { newFile, stranger, writer } from '../../support/sqlite.ts';

const rex = newPet({ name: 'Rex', categoryId: -(2n ** 63n), status: 'pending' });

describe('a restart', () => {
  it('keeps the pets and the idempotency keys', async () => {
    const file = await newFile();
    const first = await openSqliteStorage(file);
    const pet = await first.pets.insert(rex);
    const once = await first.pets.insertOnce(rex, idempotencyFor('a'));
    await first.close();

    const { pets, close } = await openSqliteStorage(file);
    const list = await pets.list({ limit: 10 });
    const replayed = await pets.insertOnce(rex, idempotencyFor('a'));
    const reused = pets.insertOnce(rex, idempotencyFor('a', 'another body'));
    await expect(reused).rejects.toThrow(IdempotencyKeyReused);
    await close();

    expect(list).toStrictEqual([pet, once.pet]);
    expect(replayed).toStrictEqual({ pet: once.pet, replayed: true });
  });

  it('gives no id twice, not even that of a pet that somebody has deleted', async () => {
    const file = await newFile();
    const first = await openSqliteStorage(file);
    const ids = [await first.pets.insert(rex), await first.pets.insert(rex)].map(({ id }) => id);
    await first.close();
    stranger(file).exec('DELETE FROM pets');

    const { pets, close } = await openSqliteStorage(file);
    const { id } = await pets.insert(rex);
    await close();

    expect(ids).toStrictEqual([1n, 2n]);
    expect(id).toBe(3n);
  });

  it('forgets an idempotency key with its pet', async () => {
    const file = await newFile();
    const { pets, close } = await openSqliteStorage(file);
    const first = await pets.insertOnce(rex, idempotencyFor('a'));
    stranger(file).exec('DELETE FROM pets');

    const second = await pets.insertOnce(rex, idempotencyFor('a', 'another body'));
    await close();

    expect(second).toStrictEqual({ pet: { ...first.pet, id: 2n }, replayed: false });
  });
});

describe('kill -9 under load', () => {
  it.each([1, 32])('loses no pet that was acknowledged: %i callers', async (callers) => {
    const file = await newFile();
    const other = writer(file, callers);
    await other.printed(/^300 /m);
    await other.kill();

    const acknowledged = other.stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ (.*?) /))
      .map(([, id = '', name = '']) => ({ id: BigInt(id), name }));
    expect(acknowledged.length).toBeGreaterThanOrEqual(300);
    expect(new Set(acknowledged.map(({ id }) => id)).size).toBe(acknowledged.length);

    const { pets, close } = await openSqliteStorage(file);
    for (const { id, name } of acknowledged) {
      const pet = await pets.findById(id);
      expect(pet?.name).toBe(name);
      const { categoryId } = pet!;
      // A client that has not heard of it asks again.
      const again = await pets.insertOnce(newPet({ name, categoryId }), idempotencyFor(name));
      expect(again).toStrictEqual({ pet, replayed: true });
    }
    const next = await pets.insert(rex);
    for (const { id } of acknowledged) expect(id).toBeLessThan(next.id);
    await close();
    expect(stranger(file).prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }]);
  });

  it('leaves a file that can be read without a service', async () => {
    const file = await newFile();
    const other = writer(file, 4);
    const [, id = ''] = await other.printed(/^50 (\d+) /m);
    await other.kill();

    const { pets, close } = await openSqliteForReading(file);
    const pet = await pets.findById(BigInt(id));
    await close();

    expect(pet?.id).toBe(BigInt(id));
  });
});

describe('the connection', () => {
  it('waits for the disk before it acknowledges', async () => {
    const db = connect(await newFile(), { readOnly: false });
    // No test can cut the power: this is the setting with which SQLite promises to survive that.
    db.exec('PRAGMA synchronous = NORMAL');
    makeDurable(db);

    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2n });
    expect(db.prepare('PRAGMA fullfsync').get()).toEqual({ fullfsync: 1n });
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    db.close();
  });
});
