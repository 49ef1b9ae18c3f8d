import fc from 'fast-check';
import { expect, it } from 'vitest';
import { IdempotencyKeyTaken, PetIdTaken } from '../../src/application/maintenance/errors.ts';
import { IdempotencyKeyReused } from '../../src/application/pets/errors.ts';
import {
  type ArchivedPet,
  type PetArchive,
  type ReadablePetArchive,
  samePet,
} from '../../src/application/ports/pet-archive.ts';
import type { Idempotency, PetRepository } from '../../src/application/ports/pet-repository.ts';
import {
  INT64_MAX,
  INT64_MIN,
  MAX_PET_ID,
  type NewPet,
  type Pet,
  type PetStatus,
  petWithId,
} from '../../src/domain/pet.ts';
import { aNewPet, petStatus } from '../../proof/properties/arbitraries.ts';
import { holds } from '../../proof/properties/holds.ts';
import { idempotencyFor, inOrderOfId } from '../support/archived-pets.ts';
import { command as commandOf, OpenedStore, processCommands } from './model.ts';
import type { Ports, TestedStorage } from './storages.ts';

type Real = OpenedStore<Ports>;

/** A simple `PetRepository` and {@link PetArchive} with an array. A real store must return the same results. */
class Model {
  pets: ArchivedPet[] = [];
  /** The greatest id that was assigned or reserved. The next pet is assigned a greater id. */
  lastId = 0n;

  find(id: bigint): ArchivedPet | undefined {
    return this.pets.find((pet) => pet.id === id);
  }

  findByKey(key: string): ArchivedPet | undefined {
    return this.pets.find(({ idempotency }) => idempotency?.key === key);
  }

  list(status: PetStatus | undefined, after: bigint, limit: number): Pet[] {
    const matching = this.pets.filter((pet) => pet.id > after && (status ?? pet.status) === pet.status);
    return matching.slice(0, limit).map(withoutKey);
  }

  /** Checks a pet that the real store has just created, and adds this pet to the model. */
  add(pet: Pet, draft: NewPet, idempotency?: Idempotency): void {
    expect(pet).toStrictEqual({ ...draft, id: pet.id });
    expect(pet.id).toSatisfy((id: bigint) => id > this.lastId && id <= MAX_PET_ID);
    expect(this.find(pet.id)).toBeUndefined();
    this.lastId = pet.id;
    this.put(idempotency === undefined ? pet : { ...pet, idempotency });
  }

  put(pet: ArchivedPet): void {
    this.pets = inOrderOfId([...this.pets, pet]);
  }
}

const command = commandOf<Model, Real>;

const show = (value: unknown) => fc.stringify(value);

/** An id. It is a fixed id, or the index of a stored pet and the distance from the id of this pet. */
const place = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.nat(40), fc.constantFrom(-1n, 0n, 0n, 1n)) },
  fc.constantFrom(INT64_MIN, -1n, 0n, 2n ** 32n + 1n, MAX_PET_ID, 2n ** 53n + 1n, INT64_MAX),
);

function idAt(model: Model, at: bigint | [number, bigint]): bigint {
  if (typeof at === 'bigint') return at;
  const [index, distance] = at;
  return (model.pets[index % Math.max(1, model.pets.length)]?.id ?? 0n) + distance;
}

/** A number from which `OpenedStore.pick` chooses the process that makes the call. */
const actor = fc.nat(3);
const limit = fc.integer({ min: 1, max: 101 });
const statusFilter = fc.option(petStatus, { nil: undefined });
// There are only four keys and two bodies, so that many calls repeat a key, with the same or a different body.
const idempotency = fc
  .tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('body', 'body', 'another'))
  .map(([key, body]) => idempotencyFor(key, body));

const insert = fc.tuple(actor, aNewPet).map(([by, draft]) =>
  command(`insert(${show(draft)}) by ${by}`, async (model, real) => {
    model.add(await real.pick(by).pets.insert(draft), draft);
  }),
);

const insertOnce = fc.tuple(actor, aNewPet, idempotency).map(([by, draft, once]) =>
  command(`insertOnce(${show(draft)}, ${show(once)}) by ${by}`, async (model, real) => {
    const storedPet = model.findByKey(once.key);
    const inserting = real.pick(by).pets.insertOnce(draft, once);
    if (storedPet === undefined) {
      const { pet, replayed } = await inserting;
      expect(replayed).toBe(false);
      model.add(pet, draft, once);
    } else if (storedPet.idempotency?.fingerprint === once.fingerprint) {
      expect(await inserting).toStrictEqual({ pet: withoutKey(storedPet), replayed: true });
    } else {
      await expect(inserting).rejects.toThrow(IdempotencyKeyReused);
    }
  }),
);

const concurrent = fc
  .array(fc.tuple(actor, aNewPet, fc.option(idempotency, { nil: undefined })), {
    minLength: 2,
    maxLength: 12,
  })
  .map((calls) =>
    command(`insert at the same time ${show(calls)}`, async (model, real) => {
      const outcomes = await Promise.allSettled(
        calls.map(async ([by, draft, once]) => {
          const { pets } = real.pick(by);
          if (once !== undefined) return { draft, once, ...(await pets.insertOnce(draft, once)) };
          return { draft, once, pet: await pets.insert(draft), replayed: false };
        }),
      );
      const settled = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
      // When several calls use one new key, any one of them may create the pet.
      const created = settled.filter(({ replayed }) => !replayed);
      for (const { pet, draft, once } of created.toSorted((a, b) => (a.pet.id < b.pet.id ? -1 : 1))) {
        expect(once === undefined || model.findByKey(once.key) === undefined).toBe(true);
        model.add(pet, draft, once);
      }
      for (const { pet, once } of settled.filter(({ replayed }) => replayed)) {
        const known = model.findByKey(once!.key)!;
        expect([pet, once]).toStrictEqual([withoutKey(known), known.idempotency]);
      }
      for (const [index, outcome] of outcomes.entries()) {
        const once = calls[index]![2];
        if (outcome.status === 'fulfilled') continue;
        expect(outcome.reason).toBeInstanceOf(IdempotencyKeyReused);
        const known = model.findByKey(once!.key);
        expect(known).toBeDefined();
        expect(known?.idempotency?.fingerprint).not.toBe(once!.fingerprint);
      }
    }),
  );

const find = fc.tuple(actor, place).map(([by, at]) =>
  command(`findById at ${show(at)} by ${by}`, async (model, real) => {
    const id = idAt(model, at);
    const known = model.find(id);
    expect(await real.pick(by).pets.findById(id)).toStrictEqual(known && withoutKey(known));
  }),
);

const list = fc
  .tuple(actor, statusFilter, fc.option(place, { nil: undefined }), limit)
  .map(([by, wanted, at, most]) =>
    command(`list(${show({ wanted, at, most })}) by ${by}`, async (model, real) => {
      const after = at === undefined ? undefined : idAt(model, at);
      const found = await real.pick(by).pets.list({ status: wanted, after, limit: most });
      expect(found).toStrictEqual(model.list(wanted, after ?? INT64_MIN, most));
    }),
  );

/** Lists all pages, one after the other. Another process inserts a pet after each page, until `between` is empty. */
const walk = fc
  .tuple(actor, statusFilter, fc.integer({ min: 1, max: 5 }), fc.array(aNewPet, { maxLength: 6 }))
  .map(([by, wanted, most, between]) =>
    command(`walk ${show({ wanted, most, between })} by ${by}`, async (model, real) => {
      const storedBefore = model.list(wanted, INT64_MIN, Infinity);
      const draftsToInsert = [...between];
      const seen: Pet[] = [];
      for (let page: readonly Pet[] | undefined; page === undefined || page.length > 0; ) {
        page = await real.pick(by).pets.list({ status: wanted, limit: most, after: seen.at(-1)?.id });
        seen.push(...page);
        const draft = draftsToInsert.shift();
        if (draft !== undefined) model.add(await real.pick(by + 1).pets.insert(draft), draft);
      }
      // The pages may miss pets that were inserted meanwhile. Each older pet is on the pages once, in order of id.
      const ids = new Set(seen.map(({ id }) => id));
      expect(seen).toStrictEqual(model.list(wanted, INT64_MIN, Infinity).filter(({ id }) => ids.has(id)));
      expect(seen).toStrictEqual(expect.arrayContaining(storedBefore));
    }),
  );

/** Writes a batch of pets. `again` means that the batch has an unchanged copy of a stored pet. */
const write = fc
  .array(
    fc.record({
      at: place,
      draft: aNewPet,
      once: fc.option(idempotency, { nil: undefined }),
      again: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .chain((entries) => actor.map((by) => [by, entries] as const))
  .map(([by, entries]) =>
    command(`write ${show(entries)} by ${by}`, async (model, real) => {
      const batch = new Map<bigint, ArchivedPet>();
      for (const { at, draft, once, again } of entries) {
        const id = idAt(model, at);
        const known = model.find(id);
        if (id < 1n || id >= MAX_PET_ID) continue;
        if (again && known !== undefined) batch.set(id, known);
        else batch.set(id, { id, ...draft, ...(once !== undefined && { idempotency: once }) });
      }
      await writeAll(model, real.pick(by).archive, [...batch.values()]);
    }),
  );

/** Writes one batch. It must be rejected if and only if a different pet has one of its ids or idempotency keys. */
async function writeAll(model: Model, archive: PetArchive, batch: readonly ArchivedPet[]): Promise<void> {
  const newPets = batch.filter(({ id }) => model.find(id) === undefined);
  const keys = newPets.flatMap((pet) => pet.idempotency?.key ?? []);
  const idTaken = batch.some((pet) => {
    const known = model.find(pet.id);
    return known !== undefined && !samePet(known, pet);
  });
  const keyTaken = new Set(keys).size < keys.length || keys.some((key) => model.findByKey(key) !== undefined);
  const [outcome] = await Promise.allSettled([archive.write(batch)]);
  if (outcome.status === 'fulfilled') {
    expect([idTaken, keyTaken]).toStrictEqual([false, false]);
    for (const pet of newPets) model.put(pet);
    return;
  }
  const { reason } = outcome;
  expect(
    (idTaken && reason instanceof PetIdTaken) || (keyTaken && reason instanceof IdempotencyKeyTaken),
  ).toBe(true);
  // The port says: "A rejected write may have stored any of the other pets."
  for (const pet of newPets) {
    const [stored] = await archive.read(pet.id - 1n, 1);
    if (stored?.id !== pet.id) continue;
    expect(stored).toStrictEqual(pet);
    model.put(pet);
  }
}

const reserve = fc.tuple(actor, fc.bigInt({ min: 0n, max: 60n })).map(([by, id]) =>
  command(`reserve(${id}) by ${by}`, async (model, real) => {
    await real.pick(by).archive.reserve(id);
    if (id > model.lastId) model.lastId = id;
  }),
);

/** Calls all methods that only read from the archive. */
const survey = fc.tuple(actor, place, limit).map(([by, at, most]) =>
  command(`survey ${show({ at, most })} by ${by}`, async (model, real) => {
    const archive = real.pick(by).archive;
    const id = idAt(model, at);
    const petsAfter = model.pets.filter((pet) => pet.id > id);
    const greatest = model.pets.at(-1)?.id ?? 0n;
    const lastId = await archive.lastId();
    const found = {
      read: await archive.read(id, most),
      count: await archive.count(id),
      greatestId: await archive.greatestId(),
      // A storage may skip ids, so its last id may be greater than the last id that the model knows.
      lastId: lastId >= model.lastId && lastId >= greatest,
    } satisfies Record<keyof ReadablePetArchive, unknown>;
    expect(found).toStrictEqual({
      read: petsAfter.slice(0, most),
      count: model.pets.length - petsAfter.length,
      greatestId: greatest,
      lastId: true,
    });
  }),
);

/** `survey` stands for all methods of {@link ReadablePetArchive}. */
type TestedMethod = keyof PetRepository | Exclude<keyof PetArchive, keyof ReadablePetArchive> | 'survey';

/** The random commands for each method of the ports. The compiler reports a method of the ports that has no entry. */
const COMMANDS: Readonly<Record<TestedMethod, readonly fc.Arbitrary<fc.AsyncCommand<Model, Real>>[]>> = {
  insert: [insert, concurrent],
  insertOnce: [insertOnce, insertOnce],
  findById: [find],
  list: [list, list, walk],
  write: [write],
  reserve: [reserve],
  survey: [survey],
};

/** Makes random calls of `PetRepository` and {@link PetArchive}, and compares each result with {@link Model}. */
export function petRepositoryModel({ create, runs, services }: TestedStorage): void {
  it('returns what a model with an array of pets returns, for random sequences of calls', async () => {
    const commands = [...Object.values(COMMANDS).flat(), ...processCommands<Model, Real>(services)];
    await holds(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (calls) => {
        await using real = await OpenedStore.on(await create());
        await fc.asyncModelRun(() => ({ model: new Model(), real }), calls);
      }),
      runs,
    );
  });
}

function withoutKey(pet: ArchivedPet): Pet {
  return petWithId(pet.id, pet);
}
