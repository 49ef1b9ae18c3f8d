import { expect, it } from 'vitest';
import type { SqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { ReadCache } from '../../../src/adapters/sqlite/read-cache.ts';
import type { Pet } from '../../../src/domain/pet.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';
import { fakeClock } from '../../support/fake-clock.ts';
import { newDatabase, newService, otherConnection } from '../../support/sqlite.ts';

const TRUSTED_MS = 100;
const PETS = [1n, 3n, 5n].map((id) => anArchivedPet({ id }));
const [first, second] = PETS as [Pet, Pet];

async function serviceWithPets() {
  const clock = fakeClock();
  const storage = await newService();
  await storage.archive.write(PETS);
  return { clock, ...storage };
}

/** Reads a pet by its id, a page of all pets, and a page with a filter. */
async function readAll(pets: SqliteStorage['pets']) {
  return {
    one: await pets.findById(1n),
    page: await pets.list({ limit: 2 }),
    filtered: await pets.list({ status: 'available', limit: 2 }),
  };
}

const BEFORE = { one: first, page: [first, second], filtered: [first, second] };

it('a read shows a change by another connection after 100 ms', async () => {
  const { clock, file, pets } = await serviceWithPets();
  // After the second read, the cache has these reads.
  for (let n = 0; n < 2; n++) expect(await readAll(pets)).toStrictEqual(BEFORE);

  otherConnection(file).exec("UPDATE pets SET name = 'Tom', checksum = -1 WHERE id = 1");
  clock.advance(TRUSTED_MS - 1);
  expect(await readAll(pets)).toStrictEqual(BEFORE);
  clock.advance(1);

  const tom = { ...first, name: 'Tom' };
  expect(await readAll(pets)).toStrictEqual({ one: tom, page: [tom, second], filtered: [tom, second] });
});

it('a read immediately shows an insert after a page that is not full, with an id that was missing', async () => {
  const { pets } = await serviceWithPets();
  for (let n = 0; n < 3; n++) {
    expect(await pets.list({ limit: 4 })).toStrictEqual(PETS);
    expect(await pets.findById(6n)).toBeUndefined();
  }

  const fourth = await pets.insert(anArchivedPet({ id: 0n, name: 'Tom' }));

  expect(await pets.list({ limit: 4 })).toStrictEqual([...PETS, fourth]);
  expect(await pets.findById(6n)).toStrictEqual(fourth);
});

it('a read immediately shows an import between the pets of a full page', async () => {
  const { pets, archive } = await serviceWithPets();
  // After the second read, the cache has these reads.
  for (let n = 0; n < 2; n++) expect(await readAll(pets)).toStrictEqual(BEFORE);

  const between = anArchivedPet({ id: 2n });
  await archive.write([between]);

  expect(await readAll(pets)).toStrictEqual({
    one: first,
    page: [first, between],
    filtered: [first, between],
  });
});

it('the read cache returns a page of its own to each caller', async () => {
  const { pets } = await serviceWithPets();

  for (let n = 0; n < 4; n++) {
    const page = await pets.list({ limit: 2 });
    expect(page).toStrictEqual([first, second]);
    (page as Pet[]).reverse();
    expect(page.map((pet) => Object.isFrozen(pet))).toStrictEqual([true, true]);
  }
});

it('the read cache distinguishes pages by status, beginning and limit', async () => {
  const { pets, archive } = await serviceWithPets();
  const sold = [7n, 9n].map((id) => anArchivedPet({ id, status: 'sold' }));
  await archive.write(sold);

  for (let n = 0; n < 3; n++) {
    expect(await pets.list({ limit: 2 })).toStrictEqual([first, second]);
    expect(await pets.list({ limit: 1 })).toStrictEqual([first]);
    expect(await pets.list({ limit: 1, after: 1n })).toStrictEqual([second]);
    expect(await pets.list({ limit: 2, status: 'sold' })).toStrictEqual(sold);
    expect(await pets.list({ limit: 1, after: 7n, status: 'sold' })).toStrictEqual([sold[1]]);
  }
});

async function newCache() {
  const { db } = await newDatabase();
  const cache = new ReadCache(db);
  expect(cache.get('page')).toBeUndefined();
  return cache;
}

it('the read cache keeps a result from its second read on, also after 100 ms without a change', async () => {
  const clock = fakeClock();
  const cache = await newCache();

  cache.add('page', PETS);
  expect(cache.get('page')).toBeUndefined();
  cache.add('page', PETS);
  expect(cache.get('page')).toBe(PETS);
  clock.advance(TRUSTED_MS);
  expect(cache.get('page')).toBe(PETS);
});

it('the read cache keeps at most 10,000 pets', async () => {
  const cache = await newCache();
  const addTwice = (key: bigint | string, pets: readonly Pet[]) => {
    cache.add(key, pets);
    cache.add(key, pets);
  };
  const page = Array<Pet>(100).fill(first);
  for (let n = 0; n < 100; n++) addTwice(`page ${n}`, page);
  expect(cache.get('page 0')).toBe(page);
  expect(cache.get('page 99')).toBe(page);

  for (const id of [1n, 2n]) addTwice(id, [first]);

  expect(cache.get(1n)).toStrictEqual([first]);
  expect(cache.get('page 0')).toBeUndefined();
  expect(cache.get('page 99')).toBeUndefined();
});

it('the read cache remembers at most 10,000 reads', async () => {
  const cache = await newCache();
  for (let n = 0; n < 10_000; n++) cache.add(`page ${n}`, PETS);
  cache.add('another page', PETS);

  cache.add('page 0', PETS);
  cache.add('another page', PETS);

  expect(cache.get('page 0')).toBeUndefined();
  expect(cache.get('another page')).toBe(PETS);
});
