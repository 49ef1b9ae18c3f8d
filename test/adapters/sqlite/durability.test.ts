import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import {
  integrityOf,
  newFile,
  newService,
  openService,
  otherConnection,
  silentHost,
  writer,
} from '../../support/sqlite.ts';
import { aPet } from '../../support/pets.ts';

const rex = aPet({ categoryId: -(2n ** 63n), status: 'pending' });

it('a restart never reuses an id, not even that of a deleted pet', async () => {
  const file = await newFile();
  const first = await openSqliteStorage(file, silentHost);
  const ids = [await first.pets.insert(rex), await first.pets.insert(rex)].map(({ id }) => id);
  await first.close();
  {
    using other = otherConnection(file);
    other.exec('DELETE FROM pets');
  }

  const { pets } = await openService(file);
  const { id } = await pets.insert(rex);

  expect(ids).toStrictEqual([1n, 2n]);
  expect(id).toBe(3n);
});

it('a restart forgets an idempotency key with its pet', async () => {
  const { file, pets } = await newService();
  const first = await pets.insertOnce(rex, idempotencyFor('a'));
  otherConnection(file).exec('DELETE FROM pets');

  const second = await pets.insertOnce(rex, idempotencyFor('a', 'another body'));

  expect(second).toStrictEqual({ pet: { ...first.pet, id: 2n }, replayed: false });
});

it.each([1, 32])(
  'a kill -9 under load loses no acknowledged pet, and frees the file for a second service: %i callers',
  async (callers) => {
    const file = await newFile();
    const other = writer(file, callers);
    await other.printed(/^100 /m);
    await expect(openSqliteStorage(file, silentHost)).rejects.toThrow('in use by another petstore service');
    await other.kill();
    const left = ['', '-shm', '-wal', '.lock'].map((suffix) => `petstore.db${suffix}`);
    expect((await readdir(dirname(file))).toSorted()).toStrictEqual(left);

    const acknowledged = other.stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ (.*?) /))
      .map(([, id = '', name = '']) => ({ id: BigInt(id), name }));
    expect(acknowledged.length).toBeGreaterThanOrEqual(100);
    expect(new Set(acknowledged.map(({ id }) => id)).size).toBe(acknowledged.length);

    // It is readable without a service.
    const reader = await openSqliteForReading(file);
    const { id: last } = acknowledged.at(-1)!;
    expect(await reader.archive.read(last - 1n, 1)).toMatchObject([{ id: last }]);
    await reader.close();

    const { pets, close } = await openSqliteStorage(file, silentHost);
    // A client that has missed the answer retries.
    const retries = acknowledged.map(async ({ id, name }) => {
      const pet = await pets.findById(id);
      expect(pet?.name).toBe(name);
      const { categoryId } = pet!;
      const again = await pets.insertOnce(aPet({ name, categoryId }), idempotencyFor(name));
      expect(again).toStrictEqual({ pet, replayed: true });
    });
    await Promise.all(retries);
    const next = await pets.insert(rex);
    for (const { id } of acknowledged) expect(id).toBeLessThan(next.id);
    await close();
    expect(integrityOf(file)).toBe('ok');
  },
);
