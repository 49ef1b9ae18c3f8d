import type { PetArchive } from '../../src/application/ports/pet-archive.ts';
import type { Idempotency, InsertResult, PetRepository } from '../../src/application/ports/pet-repository.ts';
import { type NewPet, newPet, type Pet, PET_STATUSES, type PetStatus } from '../../src/domain/pet.ts';
import { idempotencyFor } from '../../test/support/archived-pets.ts';
import { numbers } from '../../test/support/numbers.ts';
import { type Call, Calls } from './calls.ts';
import type { Simulation } from './simulation.ts';

/** The number of different idempotency keys. */
const KEYS = 6;
const MAX_RETRIES = 3;

/** Within this time after the last failure of the storage, every process notices that the storage works. */
const RECOVERY_MS = 30_000;

/** The deadline of a call to the archive (`PetArchive`, which reserves ids and writes pets with given ids). */
const ARCHIVE = { limitMs: 90_000 } as const;

export type StoredPet = Pet & {
  /** The hash of the idempotency key. */
  readonly key: string | undefined;
};

export type PetStore = {
  /** One repository per process. */
  readonly repositories: readonly PetRepository[];
  /** The deadline of a call, in virtual milliseconds. */
  readonly limitMs: number;
  /** Whether the store has this pet, and would keep it if every process and machine failed now. */
  readonly isDurable: (pet: Pet) => boolean;
  /** Whether a read must show only pets for which `isDurable` is true. Default: no. */
  readonly showsOnlyDurable?: boolean;
  /**
   * Call it when a list begins. The returned function says, when the list ends, whether the list may miss pets. The
   * adapter documents one such case: the primary was deposed, and the process could not know it.
   */
  readonly mayListMiss: (process: number) => () => boolean;
  /** Whether the adapter accepts calls. It is false after its queue is closed. */
  readonly isOpen: () => boolean;
  /** All pets in the store. */
  readonly stored: () => readonly StoredPet[];
};

/** The state when a call begins. */
type Snapshot = {
  /** The greatest acknowledged or reserved id. */
  readonly greatestId: bigint;
  readonly isOpen: boolean;
};

type ListPlan = {
  readonly status: PetStatus | undefined;
  readonly after: bigint;
  readonly limit: number;
  /** Whether the caller reads all pages, from the first to the last. */
  readonly isWalk: boolean;
};

const FIRST_PAGE: ListPlan = { status: undefined, after: 0n, limit: 100, isWalk: false };

/**
 * Callers of one or several pet repositories on one store. The callers remember all answers, and check the answers and
 * the store against each other.
 */
export class PetCallers {
  readonly #simulation: Simulation;
  readonly #store: PetStore;
  readonly #calls: Calls;
  /** The acknowledged pets, in the order of their answers. */
  readonly #acknowledgedPets: Pet[] = [];
  readonly #assignedIds = new Set<bigint>();
  readonly #idsByKey = new Map<string, bigint>();
  /** The names of pets whose insert failed. */
  readonly #failedNames: string[] = [];
  #greatestId = 0n;
  #petCount = 0;

  constructor(simulation: Simulation, store: PetStore) {
    this.#simulation = simulation;
    this.#store = store;
    this.#calls = new Calls(simulation);
  }

  /** Plays the whole schedule of calls. Never rejects. */
  async start(): Promise<void> {
    const { random } = this.#simulation;
    const work = this.#store.repositories.keys().flatMap((process) => {
      const callers = numbers(random.integer(1, 3));
      return callers.map(() => this.#work(process, random.integer(1, 6)));
    });
    // More inserts than may share one round trip.
    const burst = numbers(random.chance(0.005) ? 1_100 : 0);
    await Promise.all([...work, ...burst.map(() => this.#insert(this.#store.repositories[0]!))]);
    this.#simulation.calm();
    await this.#simulation.wait('recovered', RECOVERY_MS);
    if (!this.#store.isOpen()) return;
    await Promise.all(this.#store.repositories.map((repository) => this.#checkRecovery(repository)));
  }

  /** Starts `count` inserts at the same time, and does not wait for them. */
  insertSome(count: number): void {
    for (const _ of numbers(count)) void this.#insert(this.#store.repositories[0]!);
  }

  /** An operator reserves ids, and may write a pet with the first or the last reserved id. Never rejects. */
  async import(archive: PetArchive): Promise<void> {
    const { random } = this.#simulation;
    for (const _ of numbers(random.integer(1, 3))) {
      await this.#simulation.wait('an operator comes', random.between(0, random.pick([10, 300, 3_000])));
      const firstId = this.#greatestId + 1n;
      const lastId = firstId + BigInt(random.integer(0, 19));
      const reserved = await this.#call(`reserve ${lastId}`, [], () => archive.reserve(lastId), ARCHIVE);
      if (reserved.failure !== undefined) return;
      if (lastId > this.#greatestId) this.#greatestId = lastId;
      for (const id of random.pick([[firstId], [lastId], []])) {
        const pet = { ...this.#newPet(), id };
        const write = () => archive.write([pet]);
        const { name, failure } = await this.#call(`write ${id}`, ['pet-id-taken'], write, ARCHIVE);
        if (failure === undefined) this.#acknowledge(name, pet, pet);
      }
    }
  }

  /** The number of inserts that have not settled. */
  get pendingInserts(): number {
    return this.#calls.pendingCalls.filter((name) => name.includes('insert')).length;
  }

  /** The names of the calls that failed because the storage was unavailable. */
  get unavailableCalls(): readonly string[] {
    return this.#calls.unavailableCalls;
  }

  /** Checks the pets in the store. Call it when no event is pending. */
  verify(): void {
    const simulation = this.#simulation;
    this.#calls.verifyAllSettled();
    const stored = new Map(this.#store.stored().map((pet) => [pet.id, pet]));
    for (const pet of this.#acknowledgedPets) {
      const storedPet = stored.get(pet.id);
      simulation.check(storedPet !== undefined && isSame(storedPet, pet), () => `pet ${pet.id} is lost`);
    }
    const keys = [...stored.values()].map(({ key }) => key).filter((key) => key !== undefined);
    simulation.check(new Set(keys).size === keys.length, () => 'an idempotency key has two pets');
    // Each insert without an idempotency key has its own name, so two pets with one name come from one insert.
    const names = [...stored.values()].filter(({ key }) => key === undefined).map(({ name }) => name);
    simulation.check(new Set(names).size === names.length, () => 'an insert has stored two pets');
    for (const name of this.#failedNames) {
      simulation.noteState(names.includes(name) ? 'answered-503-stored' : 'answered-503-not-stored');
    }
  }

  /** Checks that this process works after all failures have ended. */
  async #checkRecovery(repository: PetRepository): Promise<void> {
    const pet = this.#newPet();
    const before = this.#snapshot();
    const { name, value, failure } = await this.#call('final insert', [], () => repository.insert(pet));
    this.#simulation.check(failure === undefined, () => `${name}: ${failure}, although everything works`);
    if (value === undefined) return;
    this.#checkNewPet(name, pet, value, before);
    const found = await this.#call('final find', [], () => repository.findById(value.id));
    this.#simulation.check(found.value !== undefined, () => `${found.name}: ${found.failure ?? 'no pet'}`);
    const query = { after: value.id - 1n, limit: 1 };
    const listed = await this.#call('final list', [], () => repository.list(query));
    this.#simulation.check(
      listed.value?.[0]?.id === value.id,
      () => `${listed.name}: ${listed.failure ?? 'not this pet'}`,
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
    // The type requires an entry for each method of the port, so that no method stays without a caller.
    const byMethod: Readonly<Record<keyof PetRepository, readonly (() => Promise<void>)[]>> = {
      insert: [insert, insert],
      insertOnce: [insertOnce, insertOnce],
      findById: [find, find],
      list: [false, true].map((isWalk) => () => this.#list(repository, process, isWalk)),
    };
    const actions = [...Object.values(byMethod).flat(), () => this.#addThenList(process), insertTogether];
    for (const _ of numbers(calls)) {
      const pauseMs = random.chance(0.1) ? random.between(100, 6_000) : random.between(0, 20);
      await this.#simulation.wait('a caller comes', random.chance(0.3) ? 0 : pauseMs);
      await random.pick(actions)();
    }
  }

  /** Adds a pet by another process, which may know a later primary, and then lists pets in this process. */
  async #addThenList(process: number): Promise<void> {
    const { repositories } = this.#store;
    await this.#insert(repositories[(process + 1) % repositories.length]!);
    await this.#listFrom(repositories[process]!, process, FIRST_PAGE);
  }

  async #insert(repository: PetRepository): Promise<void> {
    const pet = this.#newPet();
    const before = this.#snapshot();
    const { name, value } = await this.#call(`insert ${pet.name}`, [], () => repository.insert(pet));
    if (value === undefined) this.#failedNames.push(pet.name);
    else this.#checkNewPet(name, pet, value, before);
  }

  async #insertOnce(repository: PetRepository): Promise<void> {
    const { random } = this.#simulation;
    const number = random.integer(1, KEYS);
    // A key belongs to the content that arrives first. The other content with this key must give an error.
    await this.#insertWithKey(repository, number, random.chance(0.9) ? 'content' : 'other content');
  }

  async #insertWithKey(repository: PetRepository, number: number, content: string): Promise<void> {
    const idempotency = idempotencyFor(`key ${number}`, content);
    const pet = newPet({ name: `${content} ${number}`, categoryId: BigInt(number) });
    for (const _ of numbers(MAX_RETRIES)) {
      const before = this.#snapshot();
      const what = `insertOnce key ${number} ${content}`;
      const call = await this.#call(what, ['idempotency-key-reused'], () =>
        repository.insertOnce(pet, idempotency),
      );
      if (call.value !== undefined) this.#checkAnswer(call, pet, idempotency, before);
      if (call.failure !== 'storage-unavailable') return;
    }
  }

  #checkAnswer(call: Call<InsertResult>, pet: NewPet, { key }: Idempotency, before: Snapshot): void {
    const { name, value } = call;
    const { pet: insertedPet, replayed: isReplay } = value!;
    if (isReplay) this.#simulation.noteState('replay');
    if (isReplay) this.#acknowledge(name, pet, insertedPet);
    else this.#checkNewPet(name, pet, insertedPet, before);
    const firstId = this.#idsByKey.get(key) ?? insertedPet.id;
    this.#simulation.check(
      firstId === insertedPet.id,
      () => `${name}: the key has pets ${firstId} and ${insertedPet.id}`,
    );
    this.#idsByKey.set(key, insertedPet.id);
  }

  /**
   * Checks the answer to an insert that has added a pet (no replay of an earlier pet).
   *
   * @param before the state when the call began
   */
  #checkNewPet(name: string, sentPet: NewPet, pet: Pet, before: Snapshot): void {
    const isAssigned = this.#assignedIds.has(pet.id);
    this.#simulation.check(!isAssigned, () => `${name}: the id ${pet.id} was assigned twice`);
    this.#assignedIds.add(pet.id);
    const isGreater = pet.id > before.greatestId;
    this.#simulation.check(isGreater, () => `${name}: the id ${pet.id} is not above ${before.greatestId}`);
    this.#simulation.check(before.isOpen, () => `${name}: the store was closed before the call`);
    this.#acknowledge(name, sentPet, pet);
  }

  #acknowledge(name: string, sentPet: NewPet, pet: Pet): void {
    const simulation = this.#simulation;
    simulation.note(`acknowledged ${pet.id}`);
    simulation.check(isSame({ ...sentPet, id: pet.id }, pet), () => `${name}: the answer has a wrong field`);
    simulation.check(this.#store.isDurable(pet), () => `${name}: the answer came before the pet was durable`);
    this.#acknowledgedPets.push(pet);
    if (pet.id > this.#greatestId) this.#greatestId = pet.id;
  }

  async #find(repository: PetRepository): Promise<void> {
    const { random } = this.#simulation;
    const isKnownId = this.#acknowledgedPets.length > 0 && random.chance(0.8);
    const expectedPet = isKnownId ? random.pick(this.#acknowledgedPets.slice(-5)) : undefined;
    const id = expectedPet?.id ?? BigInt(random.integer(1, 30));
    const { name, value, failure } = await this.#call(`find ${id}`, [], () => repository.findById(id));
    if (failure !== undefined) return;
    this.#checkShown(name, value === undefined ? [] : [value]);
    const isRight = expectedPet === undefined || (value !== undefined && isSame(expectedPet, value));
    this.#simulation.check(isRight, () => `${name}: an acknowledged pet is not found`);
    this.#simulation.check(value === undefined || value.id === id, () => `${name}: the pet has another id`);
  }

  async #list(repository: PetRepository, process: number, isWalk: boolean): Promise<void> {
    const { random } = this.#simulation;
    // One query is repeated often, because an adapter may cache its result.
    const isCommon = !isWalk && random.chance(0.4);
    const status = isCommon ? undefined : random.pick([undefined, undefined, ...PET_STATUSES]);
    const after = isCommon ? 0n : BigInt(random.pick([0, 0, random.integer(1, 10)]));
    const limit = isCommon ? 10 : random.integer(1, 10);
    await this.#listFrom(repository, process, { status, after, limit, isWalk });
  }

  /** Reads one page that begins after the id `after`, or this page and all following pages. */
  async #listFrom(
    repository: PetRepository,
    process: number,
    { status, after, limit, isWalk }: ListPlan,
  ): Promise<void> {
    const expectedPets = [...this.#acknowledgedPets];
    const isMissAllowed = this.#store.mayListMiss(process);
    const name = `list ${status} ${after} ${limit}${isWalk ? ' and the next pages' : ''}`;
    const listedPets: Pet[] = [];
    let lastId: bigint | undefined;
    for (let isMore = true; isMore; ) {
      const query = { status, after: lastId ?? after, limit };
      const { value: page } = await this.#call(name, [], () => repository.list(query));
      if (page === undefined) return;
      this.#checkShown(name, page);
      listedPets.push(...page);
      lastId = page.length < limit ? undefined : page.at(-1)!.id;
      isMore = isWalk && lastId !== undefined;
    }
    const missed = expectedPets.filter(
      (pet) =>
        pet.id > after &&
        (lastId === undefined || pet.id <= lastId) &&
        (status === undefined || status === pet.status) &&
        !listedPets.some(({ id }) => id === pet.id),
    );
    const isAscending = listedPets.every((pet, index) => index === 0 || pet.id > listedPets[index - 1]!.id);
    this.#simulation.check(isAscending, () => `${name}: not in ascending order: ${ids(listedPets)}`);
    this.#simulation.check(missed.length === 0 || isMissAllowed(), () => `${name}: misses ${ids(missed)}`);
    if (missed.length > 0) this.#simulation.noteState('documented-gap');
  }

  /** Checks that all shown pets are durable. Call it right after the answer, without an `await` between. */
  #checkShown(name: string, pets: readonly Pet[]): void {
    if (this.#store.showsOnlyDurable !== true) return;
    if (this.#store.stored().some((pet) => !this.#store.isDurable(pet)))
      this.#simulation.noteState('read-beside-hidden-pets');
    const earlyPets = pets.filter((pet) => !this.#store.isDurable(pet));
    this.#simulation.check(earlyPets.length === 0, () => `${name}: shows non-durable pets ${ids(earlyPets)}`);
  }

  #call<T>(
    what: string,
    errors: readonly string[],
    work: () => Promise<T>,
    { limitMs }: Pick<PetStore, 'limitMs'> = this.#store,
  ): Promise<Call<T>> {
    const rules = { limitMs, errors: ['storage-unavailable', ...errors] };
    return this.#calls.make(what, rules, work);
  }

  #snapshot(): Snapshot {
    return { greatestId: this.#greatestId, isOpen: this.#store.isOpen() };
  }

  #newPet(): NewPet {
    const number = ++this.#petCount;
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
