import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { PetIdsExhausted } from '../../src/application/pets/errors.ts';
import type { PetQuery, PetRepository } from '../../src/application/ports/pet-repository.ts';
import {
  INT64_MAX,
  INT64_MIN,
  MAX_PET_ID,
  PAGE_SIZE,
  type Pet,
  PET_NAME_MAX_LENGTH,
  PET_STATUSES,
} from '../../src/domain/pet.ts';
import { inOrderOfId } from '../support/archived-pets.ts';
import { numbers } from '../support/numbers.ts';
import { aPet, variantsOfRex, insertPets, tamper } from '../support/pets.ts';
import { idempotencyContract } from './idempotency.ts';
import { ODD_TEXTS } from './odd-texts.ts';
import { type HeldStore, openStore, type TestedStorage, skipNote } from './storages.ts';

/** Category ids at or beyond the limits of the usual number types. */
const CATEGORY_IDS = [
  INT64_MIN,
  -(2n ** 53n) - 1n,
  -(2n ** 31n) - 1n,
  -1n,
  0n,
  2n ** 31n,
  2n ** 53n + 1n,
  INT64_MAX,
];

const NAME_WITH_MOST_BYTES = '\u{1f415}'.repeat(PET_NAME_MAX_LENGTH);

/** The tests that every `PetRepository` must pass. {@link petRepositoryModel} tests random sequences of calls. */
export function petRepositoryContract(storage: TestedStorage): void {
  // A new method of the port does not compile until it has a contract here.
  const contracts: Readonly<Record<keyof PetRepository, (storage: TestedStorage) => void>> = {
    insert: insertContract,
    insertOnce: idempotencyContract,
    findById: findByIdContract,
    list: listContract,
  };
  for (const contract of Object.values(contracts)) contract(storage);
}

function insertContract(storage: TestedStorage): void {
  it('returns each pet exactly as it was inserted', async () => {
    const { pets } = await openStore(storage);
    const drafts = [
      ...variantsOfRex.map(([, pet]) => pet),
      ...PET_STATUSES.map((status) => aPet({ status })),
      ...CATEGORY_IDS.map((categoryId) => aPet({ categoryId })),
      ...[...ODD_TEXTS, NAME_WITH_MOST_BYTES].map((name) => aPet({ name })),
    ];

    const inserted = await insertPets(pets, ...drafts);

    expect(inserted).toStrictEqual(drafts.map((draft, n) => ({ id: inserted[n]?.id, ...draft })));
    expect(await pets.list({ limit: drafts.length })).toStrictEqual(inserted);
    for (const pet of inserted) expect(await pets.findById(pet.id)).toStrictEqual(pet);
  });

  it('stores the fields of a pet, and no other field of the inserted object', async () => {
    const { pets } = await openStore(storage);

    const inserted = await pets.insert({ ...aPet(), id: 99n, _id: 99n, owner: 'Tom' } as Pet);

    expect(inserted).toStrictEqual({ id: 1n, ...aPet() });
    expect(await pets.findById(1n)).toStrictEqual(inserted);
    expect(await pets.findById(99n)).toBeUndefined();
  });

  it('assigns a different id to each concurrent insert, and returns to each caller its own pet', async () => {
    const { pets } = await openStore(storage);
    const names = numbers(PAGE_SIZE.max + 20).map((n) => `pet ${n}`);

    const inserted = await Promise.all(names.map((name) => pets.insert(aPet({ name }))));

    expect(inserted.map(({ name }) => name)).toStrictEqual(names);
    expect(new Set(inserted.map(({ id }) => id)).size).toBe(names.length);
    // More than 100 pets show whether ids are sorted as numbers. As texts, 10 is before 9, and 100 is before 99.
    expect(await pets.list({ limit: names.length })).toStrictEqual(inOrderOfId(inserted));
  });

  it('assigns the last ids to concurrent inserts, and rejects the remaining inserts with PetIdsExhausted', async () => {
    const { pets, archive } = await openStore(storage);
    await archive.reserve(MAX_PET_ID - 3n);

    const outcomes = await Promise.allSettled(numbers(10).map(() => pets.insert(aPet())));

    const inserted = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []));
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? outcome.reason : []));
    expect(inOrderOfId(inserted).map(({ id }) => id)).toStrictEqual([
      MAX_PET_ID - 2n,
      MAX_PET_ID - 1n,
      MAX_PET_ID,
    ]);
    expect(refused).toStrictEqual(numbers(7).map(() => new PetIdsExhausted()));
    await expect(pets.insert(aPet())).rejects.toThrow(PetIdsExhausted);
    expect(await pets.list({ limit: 10 })).toStrictEqual(inOrderOfId(inserted));
  });

  it('keeps a stored pet unchanged when the caller changes the inserted object during or after the insert', async () => {
    const { pets } = await openStore(storage);
    const argument = structuredClone(aPet());
    const inserting = pets.insert(argument);
    tamper(argument);

    const inserted = await inserting;
    tamper(argument);

    expect(inserted).toStrictEqual({ id: 1n, ...aPet() });
    expect(await pets.findById(1n)).toStrictEqual(inserted);
    expect(await pets.list({ limit: 10, status: 'available' })).toStrictEqual([inserted]);
  });
}

function findByIdContract(storage: TestedStorage): void {
  it('keeps stored pets unchanged when the caller changes a returned pet or page', async () => {
    const { pets } = await openStore(storage);
    const inserted = await insertPets(pets, {}, {});
    const before = structuredClone(inserted);

    const page = await pets.list({ limit: 10 });
    for (const pet of [inserted[0], await pets.findById(1n), page[1]]) tamper(pet!);
    if (!Object.isFrozen(page)) (page as Pet[]).length = 0;

    expect(await pets.list({ limit: 10 })).toStrictEqual(before);
    expect(await pets.findById(1n)).toStrictEqual(before[0]);
  });
}

function listContract(storage: TestedStorage): void {
  const { holdInsert } = storage;
  it.skipIf(typeof holdInsert === 'string')(
    `lists every pet to a client that continues after the last listed id, when the second of two inserts finishes first${skipNote(holdInsert)}`,
    async () => {
      const { slow, other, insertHeld } = await (holdInsert as () => Promise<HeldStore>)();
      const held = slow.insert(aPet({ name: 'held' }));
      const continueInsert = await insertHeld;
      const next = other.insert(aPet({ name: 'next' }));
      // A storage may make the next insert wait until the held insert has ended.
      await Promise.race([next, setTimeout(1_000)]);
      const seen = [...(await other.list({ limit: 10 }))];
      continueInsert();

      const inserted = await Promise.all([held, next]);

      seen.push(...(await other.list({ limit: 10, after: seen.at(-1)?.id })));
      expect(seen).toStrictEqual(inOrderOfId(inserted));
    },
  );

  it('ignores changes that the caller makes to the query while list() runs', async () => {
    const { pets } = await openStore(storage);
    const inserted = await insertPets(pets, ...numbers(6).map(() => ({})));
    const query: PetQuery = { limit: 2, after: 1n };

    const listing = pets.list(query);
    Object.assign(query, { limit: 5, after: 4n, status: 'sold' });

    expect(await listing).toStrictEqual(inserted.slice(1, 3));
  });
}
