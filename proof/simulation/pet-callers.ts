import type { PetArchive } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency, Inserted, PetRepository } from '../../src/application/ports/pet-repository.ts';
import { type NewPet, newPet, type Pet, PET_STATUSES, type PetStatus } from '../../src/domain/pet.ts';
import { idempotencyFor } from '../../test/support/archived-pets.ts';
import { numbers } from '../../test/support/numbers.ts';
import { type Call, Calls } from './calls.ts';
import type { Simulation } from './simulation.ts';

const KEYS = 6;
const MAX_RETRIES = 3;

/** When the outside works again, every process has noticed that within this time. */
const RECOVERY_MS = 30_000;

/** The deadline of an archive's call. */
const ARCHIVE = { limitMs: 90_000 } as const;

export type StoredPet = Pet & {
  /** The hash of the idempotency key. */
  readonly key: string | undefined;
};

export type PetStore = {
  /** One for each process. */
  readonly repositories: readonly PetRepository[];
  /** The deadline of a call, in virtual milliseconds. */
  readonly limitMs: number;
  /** Whether the store would keep this pet if everything failed now. */
  readonly isDurable: (pet: Pet) => boolean;
  /** Whether a read shows only what is durable in this sense. */
  readonly showsOnlyDurable?: boolean;
  /** Whether a list of this process, from now on, may miss pets: the one gap that the adapter documents. */
  readonly mayListMiss: (process: number) => () => boolean;
  /** Whether the adapter takes calls. */
  readonly isOpen: () => boolean;
  /** Everything that the store holds in the end. */
  readonly stored: () => readonly StoredPet[];
};

type Situation = {
  /** The greatest id that was acknowledged or reserved. */
  readonly greatestId: bigint;
  readonly isOpen: boolean;
};

type Walk = {
  readonly status: PetStatus | undefined;
  readonly begin: bigint;
  readonly limit: number;
  readonly isWalk: boolean;
};

const FIRST_PAGE: Walk = { status: undefined, begin: 0n, limit: 100, isWalk: false };

/** Callers of one or several pet repositories on one store, and what they have been told. */
export class PetCallers {
  readonly #simulation: Simulation;
  readonly #store: PetStore;
  readonly #calls: Calls;
  /** What was acknowledged, in order. */
  readonly #acknowledged: Pet[] = [];
  readonly #freshIds = new Set<bigint>();
  readonly #idsByKey = new Map<string, bigint>();
  /** The names of pets whose insert failed. */
  readonly #failed: string[] = [];
  #greatestId = 0n;
  #pets = 0;

  constructor(simulation: Simulation, store: PetStore) {
    this.#simulation = simulation;
    this.#store = store;
    this.#calls = new Calls(simulation);
  }

  /** Never rejects. */
  async start(): Promise<void> {
    const { random } = this.#simulation;
    const work = this.#store.repositories.keys().flatMap((process) => {
      const callers = numbers(random.integer(1, 3));
      return callers.map(() => this.#work(process, random.integer(1, 6)));
    });
    // More than may share a round trip.
    const burst = numbers(random.chance(0.005) ? 1_100 : 0);
    await Promise.all([...work, ...burst.map(() => this.#insert(this.#store.repositories[0]!))]);
    this.#simulation.calm();
    await this.#simulation.wait('recovered', RECOVERY_MS);
    if (!this.#store.isOpen()) return;
    await Promise.all(this.#store.repositories.map((repository) => this.#checkRecovery(repository)));
  }

  /** Starts some inserts at once. */
  insertSome(count: number): void {
    for (const _ of numbers(count)) void this.#insert(this.#store.repositories[0]!);
  }

  /** An operator reserves ids, and writes a pet that gets the first or the last of them. Never rejects. */
  async import(archive: PetArchive): Promise<void> {
    const { random } = this.#simulation;
    for (const _ of numbers(random.integer(1, 3))) {
      await this.#simulation.wait('an operator comes', random.between(0, random.pick([10, 300, 3_000])));
      const first = this.#greatestId + 1n;
      const last = first + BigInt(random.integer(0, 19));
      const reserved = await this.#make(`reserve ${last}`, [], () => archive.reserve(last), ARCHIVE);
      if (reserved.failed !== undefined) return;
      if (last > this.#greatestId) this.#greatestId = last;
      for (const id of random.pick([[first], [last], []])) {
        const pet = { ...this.#newPet(), id };
        const write = () => archive.write([pet]);
        const { name, failed } = await this.#make(`write ${id}`, ['pet-id-taken'], write, ARCHIVE);
        if (failed === undefined) this.#acknowledge(name, pet, pet);
      }
    }
  }

  /** Inserts that have not settled. */
  get pendingInserts(): number {
    return this.#calls.pending.filter((name) => name.includes('insert')).length;
  }

  /** Calls that failed because the storage was unavailable. */
  get unavailable(): readonly string[] {
    return this.#calls.unavailable;
  }

  /** Call it when no event is pending. */
  verify(): void {
    const simulation = this.#simulation;
    this.#calls.verifyAllSettled();
    const stored = new Map(this.#store.stored().map((pet) => [pet.id, pet]));
    for (const pet of this.#acknowledged) {
      const kept = stored.get(pet.id);
      simulation.check(kept !== undefined && isSame(kept, pet), () => `pet ${pet.id} is lost`);
    }
    const keys = [...stored.values()].map(({ key }) => key).filter((key) => key !== undefined);
    simulation.check(new Set(keys).size === keys.length, () => 'an idempotency key has two pets');
    // Each insert without a key has a name of its own.
    const names = [...stored.values()].filter(({ key }) => key === undefined).map(({ name }) => name);
    simulation.check(new Set(names).size === names.length, () => 'an insert has stored two pets');
    for (const name of this.#failed) {
      simulation.reach(names.includes(name) ? 'unavailable-stored' : 'unavailable-not-stored');
    }
  }

  /** Whatever happened before, every process works when the outside does. */
  async #checkRecovery(repository: PetRepository): Promise<void> {
    const pet = this.#newPet();
    const before = this.#situation();
    const { name, value, failed } = await this.#make('insert after all', [], () => repository.insert(pet));
    this.#simulation.check(failed === undefined, () => `${name}: ${failed}, although everything works`);
    if (value === undefined) return;
    this.#onFresh(name, pet, value, before);
    const found = await this.#make('find after all', [], () => repository.findById(value.id));
    this.#simulation.check(found.value !== undefined, () => `${found.name}: ${found.failed ?? 'nothing'}`);
    const list = { after: value.id - 1n, limit: 1 };
    const listed = await this.#make('list after all', [], () => repository.list(list));
    this.#simulation.check(
      listed.value?.[0]?.id === value.id,
      () => `${listed.name}: ${listed.failed ?? 'nothing'}`,
    );
  }

  async #work(process: number, calls: number): Promise<void> {
    const { random } = this.#simulation;
    const repository = this.#store.repositories[process]!;
    const insert = () => this.#insert(repository);
    const insertOnce = () => this.#insertOnce(repository);
    const find = () => this.#find(repository);
    const insertTogether = async () => {
      await Promise.all(numbers(random.integer(2, 12)).map(insert));
    };
    // A new method of the port does not compile until callers call it.
    const byMethod: Readonly<Record<keyof PetRepository, readonly (() => Promise<void>)[]>> = {
      insert: [insert, insert],
      insertOnce: [insertOnce, insertOnce],
      findById: [find, find],
      list: [false, true].map((isWalk) => () => this.#list(repository, process, isWalk)),
    };
    const actions = [...Object.values(byMethod).flat(), () => this.#addElsewhere(process), insertTogether];
    for (const _ of numbers(calls)) {
      const pauseMs = random.chance(0.1) ? random.between(100, 6_000) : random.between(0, 20);
      await this.#simulation.wait('a caller comes', random.chance(0.3) ? 0 : pauseMs);
      await random.pick(actions)();
    }
  }

  /** Another process adds a pet, and this one reads: the other may know a later primary. */
  async #addElsewhere(process: number): Promise<void> {
    const { repositories } = this.#store;
    await this.#insert(repositories[(process + 1) % repositories.length]!);
    await this.#listFrom(repositories[process]!, process, FIRST_PAGE);
  }

  async #insert(repository: PetRepository): Promise<void> {
    const pet = this.#newPet();
    const before = this.#situation();
    const { name, value } = await this.#make(`insert ${pet.name}`, [], () => repository.insert(pet));
    if (value === undefined) this.#failed.push(pet.name);
    else this.#onFresh(name, pet, value, before);
  }

  async #insertOnce(repository: PetRepository): Promise<void> {
    const { random } = this.#simulation;
    const number = random.integer(1, KEYS);
    // The fingerprint stands for the content, so the same content has the same pet.
    await this.#insertUnder(repository, number, random.chance(0.9) ? 'content' : 'other content');
  }

  async #insertUnder(repository: PetRepository, number: number, content: string): Promise<void> {
    const idempotency = idempotencyFor(`key ${number}`, content);
    const pet = newPet({ name: `${content} ${number}`, categoryId: BigInt(number) });
    for (const _ of numbers(MAX_RETRIES)) {
      const before = this.#situation();
      const what = `insertOnce key ${number} ${content}`;
      const call = await this.#make(what, ['idempotency-key-reused'], () =>
        repository.insertOnce(pet, idempotency),
      );
      if (call.value !== undefined) this.#onInserted(call, pet, idempotency, before);
      if (call.failed !== 'storage-unavailable') return;
    }
  }

  #onInserted({ name, value }: Call<Inserted>, pet: NewPet, { key }: Idempotency, before: Situation): void {
    const { pet: inserted, replayed } = value!;
    if (replayed) this.#simulation.reach('replay');
    if (replayed) this.#acknowledge(name, pet, inserted);
    else this.#onFresh(name, pet, inserted, before);
    const known = this.#idsByKey.get(key) ?? inserted.id;
    this.#simulation.check(
      known === inserted.id,
      () => `${name}: the key has pets ${known} and ${inserted.id}`,
    );
    this.#idsByKey.set(key, inserted.id);
  }

  /** @param before when the call began */
  #onFresh(name: string, wanted: NewPet, pet: Pet, before: Situation): void {
    const isOld = this.#freshIds.has(pet.id);
    this.#simulation.check(!isOld, () => `${name}: the id ${pet.id} was assigned twice`);
    this.#freshIds.add(pet.id);
    const ascends = pet.id > before.greatestId;
    this.#simulation.check(ascends, () => `${name}: the id ${pet.id} follows ${before.greatestId}`);
    this.#simulation.check(before.isOpen, () => `${name}: the store was closed before`);
    this.#acknowledge(name, wanted, pet);
  }

  #acknowledge(name: string, wanted: NewPet, pet: Pet): void {
    const simulation = this.#simulation;
    simulation.note(`acknowledged ${pet.id}`);
    simulation.check(isSame({ ...wanted, id: pet.id }, pet), () => `${name}: the answer is another pet`);
    simulation.check(this.#store.isDurable(pet), () => `${name}: the answer came before the pet was durable`);
    this.#acknowledged.push(pet);
    if (pet.id > this.#greatestId) this.#greatestId = pet.id;
  }

  async #find(repository: PetRepository): Promise<void> {
    const { random } = this.#simulation;
    const known = this.#acknowledged.length > 0 && random.chance(0.8);
    const expected = known ? random.pick(this.#acknowledged.slice(-5)) : undefined;
    const id = expected?.id ?? BigInt(random.integer(1, 30));
    const { name, value, failed } = await this.#make(`find ${id}`, [], () => repository.findById(id));
    if (failed !== undefined) return;
    this.#checkShown(name, value === undefined ? [] : [value]);
    const isRight = expected === undefined || (value !== undefined && isSame(expected, value));
    this.#simulation.check(isRight, () => `${name}: an acknowledged pet is not found`);
    this.#simulation.check(value === undefined || value.id === id, () => `${name}: found another pet`);
  }

  async #list(repository: PetRepository, process: number, isWalk: boolean): Promise<void> {
    const { random } = this.#simulation;
    // Some queries come again: an adapter may keep their results.
    const isCommon = !isWalk && random.chance(0.4);
    const status = isCommon ? undefined : random.pick([undefined, undefined, ...PET_STATUSES]);
    const begin = isCommon ? 0n : BigInt(random.pick([0, 0, random.integer(1, 10)]));
    const limit = isCommon ? 10 : random.integer(1, 10);
    await this.#listFrom(repository, process, { status, begin, limit, isWalk });
  }

  /** Reads a page, or walks through all that follow. */
  async #listFrom(
    repository: PetRepository,
    process: number,
    { status, begin, limit, isWalk }: Walk,
  ): Promise<void> {
    const expected = [...this.#acknowledged];
    const mayMiss = this.#store.mayListMiss(process);
    const name = `list ${status} ${begin} ${limit}${isWalk ? ' and on' : ''}`;
    const listed: Pet[] = [];
    let last: bigint | undefined;
    for (let isMore = true; isMore; ) {
      const query = { status, after: last ?? begin, limit };
      const { value: page } = await this.#make(name, [], () => repository.list(query));
      if (page === undefined) return;
      this.#checkShown(name, page);
      listed.push(...page);
      last = page.length < limit ? undefined : page.at(-1)!.id;
      isMore = isWalk && last !== undefined;
    }
    const missed = expected.filter(
      (pet) =>
        pet.id > begin &&
        (last === undefined || pet.id <= last) &&
        (status === undefined || status === pet.status) &&
        !listed.some(({ id }) => id === pet.id),
    );
    const isAscending = listed.every((pet, index) => index === 0 || pet.id > listed[index - 1]!.id);
    this.#simulation.check(isAscending, () => `${name}: not in ascending order: ${ids(listed)}`);
    this.#simulation.check(missed.length === 0 || mayMiss(), () => `${name}: misses ${ids(missed)}`);
    if (missed.length > 0) this.#simulation.reach('documented-gap');
  }

  /** Call it in the turn of the answer. */
  #checkShown(name: string, pets: readonly Pet[]): void {
    if (this.#store.showsOnlyDurable !== true) return;
    if (this.#store.stored().some((pet) => !this.#store.isDurable(pet)))
      this.#simulation.reach('read-stopped');
    const early = pets.filter((pet) => !this.#store.isDurable(pet));
    this.#simulation.check(early.length === 0, () => `${name}: shows ${ids(early)} before it is durable`);
  }

  #make<T>(
    what: string,
    errors: readonly string[],
    work: () => Promise<T>,
    { limitMs }: Pick<PetStore, 'limitMs'> = this.#store,
  ): Promise<Call<T>> {
    const rules = { limitMs, errors: ['storage-unavailable', ...errors] };
    return this.#calls.make(what, rules, work);
  }

  #situation(): Situation {
    return { greatestId: this.#greatestId, isOpen: this.#store.isOpen() };
  }

  #newPet(): NewPet {
    const number = ++this.#pets;
    return newPet({
      name: `pet ${number}`,
      categoryId: BigInt(number) - 2n ** 63n,
      status: PET_STATUSES[number % 3]!,
    });
  }
}

function isSame(one: Pet, other: Pet): boolean {
  return (
    one.id === other.id &&
    one.name === other.name &&
    one.categoryId === other.categoryId &&
    one.status === other.status
  );
}

function ids(pets: readonly Pet[]): string {
  return pets.map(({ id }) => id).join(', ');
}
