import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { openSqliteForReading, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { idempotencyFor } from '../../support/archived-pets.ts';
import {
  integrityOf,
  newPath,
  openService,
  otherConnection,
  silentHost,
  startWriter,
} from '../../support/sqlite.ts';
import { aPet } from '../../support/pets.ts';

const rex = aPet({ categoryId: -(2n ** 63n), status: 'pending' });

it('a restarted service never assigns the id of a deleted pet again, and its idempotency key creates a new pet', async () => {
  const file = await newPath();
  const first = await openSqliteStorage(file, silentHost);
  const deleted = [await first.pets.insert(rex), (await first.pets.insertOnce(rex, idempotencyFor('a'))).pet];
  await first.close();
  {
    using other = otherConnection(file);
    other.exec('DELETE FROM pets');
  }

  const { pets } = await openService(file);
  const next = await pets.insertOnce(rex, idempotencyFor('a', 'another body'));

  expect(deleted.map(({ id }) => id)).toStrictEqual([1n, 2n]);
  expect(next).toStrictEqual({ pet: { id: 3n, ...rex }, replayed: false });
});

it.each([1, 32])(
  'a kill -9 of a service with %i callers loses no acknowledged pet, and another service can open the file',
  async (callers) => {
    const file = await newPath();
    const other = startWriter(file, callers);
    await other.printed(/^100 /m);
    await expect(openSqliteStorage(file, silentHost)).rejects.toThrow('in use by another petstore service');
    await other.kill();
    const remainingFiles = ['', '-shm', '-wal', '.lock'].map((suffix) => `petstore.db${suffix}`);
    expect((await readdir(dirname(file))).toSorted()).toStrictEqual(remainingFiles);

    const acknowledged = other.stdout
      .split('\n')
      .slice(1, -1)
      .map((line) => line.split(/ (.*?) /))
      .map(([, id = '', name = '']) => ({ id: BigInt(id), name }));
    expect(acknowledged.length).toBeGreaterThanOrEqual(100);
    expect(new Set(acknowledged.map(({ id }) => id)).size).toBe(acknowledged.length);

    // A command can read the file before a service recovers it.
    const reader = await openSqliteForReading(file);
    const { id: last } = acknowledged.at(-1)!;
    expect(await reader.archive.read(last - 1n, 1)).toMatchObject([{ id: last }]);
    await reader.close();

    const { pets, close } = await openSqliteStorage(file, silentHost);
    // A client that has not received the answer repeats the request.
    const repeatedRequests = acknowledged.map(async ({ id, name }) => {
      const pet = await pets.findById(id);
      expect(pet?.name).toBe(name);
      const { categoryId } = pet!;
      const replay = await pets.insertOnce(aPet({ name, categoryId }), idempotencyFor(name));
      expect(replay).toStrictEqual({ pet, replayed: true });
    });
    await Promise.all(repeatedRequests);
    const next = await pets.insert(rex);
    for (const { id } of acknowledged) expect(id).toBeLessThan(next.id);
    await close();
    expect(integrityOf(file)).toBe('ok');
  },
);
