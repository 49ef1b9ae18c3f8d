import {
  type AnyBulkWriteOperation,
  BSON,
  type BulkWriteResult,
  type Document,
  Long,
  MongoBulkWriteError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import type { Command, MongoClientModel } from './mongo-client-model.ts';
import { compare, matches } from './mongo-match.ts';
import type { Member } from './replica-set.ts';

/** As many calls share a round trip at most. */
const MAX_BATCH = 1_000;

/** Three lookups of keys after another take at least two pauses of 5 ms. A timer may be a millisecond early. */
const MIN_PAUSES_MS = 8;

const DUPLICATE_KEY = 11_000;
const WRITE_CONCERN_TIMEOUT = { code: 64, errmsg: 'waiting for replication timed out' } as const;

type FindOptions = {
  readonly readConcern?: { readonly level: string };
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  readonly limit?: number;
  readonly projection?: Readonly<Record<string, 1>>;
  readonly raw?: boolean;
};

type Duplicate = { readonly index: number; readonly code: number; readonly keyPattern: Document };

/**
 * A collection, with the methods and operators of the driver that the adapter uses. Any other filter or update is an
 * error of the model.
 *
 * Flaws: `leases-twice` (an update of the counter is acknowledged without effect, and no primary key refuses the second
 * use of an id), `forgets-keys` (no unique index on idempotency keys), `forgets-ends` (a revocation is acknowledged
 * without effect).
 */
export class MongoCollectionModel {
  readonly #client: MongoClientModel;
  readonly #name: string;
  /** Calls of `findOneAndUpdate` that have not settled. */
  #updates = 0;
  /** When queries began. */
  readonly #findsMs: number[] = [];

  constructor(client: MongoClientModel, name: string) {
    this.#client = client;
    this.#name = name;
  }

  find(filter: Document, options: FindOptions = {}) {
    const { $in } = (filter['_id'] ?? {}) as { readonly $in?: readonly unknown[] };
    this.#checkBatch($in?.length ?? 1);
    if (this.#name === 'api_keys') this.#checkRate();
    const toArray = () => this.#send('find', (member) => this.#query(member, filter, options));
    return { toArray };
  }

  async findOne(filter: Document, options: FindOptions = {}): Promise<Document | null> {
    const isLinearizable = options.readConcern?.level === 'linearizable';
    const confirm = isLinearizable && this.#client.set.flaw !== 'confirms-nothing';
    const execute = (member: Member) => this.#query(member, filter, options);
    // A linearizable read is answered after a majority has confirmed it, as a write is.
    const [found] = await this.#send(`findOne ${options.readConcern?.level ?? ''}`, execute, confirm);
    if (isLinearizable) this.#client.confirmedAtMs = this.#client.simulation.nowMs;
    return found ?? null;
  }

  async insertOne(document: Document): Promise<void> {
    let refused: Duplicate | undefined;
    const notDurable = () =>
      new MongoWriteConcernError({
        ok: 1,
        writeConcernError: WRITE_CONCERN_TIMEOUT,
        ...(refused !== undefined && { writeErrors: [refused] }),
      });
    const execute = (member: Member) => {
      refused = this.#store(member, document, 0);
      if (refused !== undefined) throw new MongoServerError({ message: 'duplicate key', ...refused });
    };
    await this.#send('insertOne', execute, true, { notDurable });
  }

  async insertMany(documents: readonly Document[]): Promise<void> {
    this.#checkBatch(documents.length);
    // The driver drops the write errors then.
    const { code, errmsg: message } = WRITE_CONCERN_TIMEOUT;
    const notDurable = () => bulkError({ message, code }, true);
    const execute = (member: Member) => {
      const duplicates = documents
        .map((document, index) => this.#store(member, document, index))
        .filter((refused) => refused !== undefined);
      if (duplicates.length > 0) {
        throw bulkError({ message: 'duplicate key', code: DUPLICATE_KEY, writeErrors: duplicates }, false);
      }
    };
    const lost = (error: Error) => bulkError(error, false);
    await this.#send(`insertMany ${documents.length}`, execute, true, { notDurable, lost });
  }

  async findOneAndUpdate(filter: Document, update: Document): Promise<Document | null> {
    this.#updates++;
    this.#checkUpdates();
    try {
      return await this.#send('findOneAndUpdate', (member) => this.#update(member, filter, update), true);
    } finally {
      this.#updates--;
    }
  }

  /** Only as `raiseCounter` uses it. */
  async updateOne(filter: Document, [stage]: readonly Document[]): Promise<void> {
    const { $max } = stage!['$set'].last.$toLong.$ceil as { readonly $max: readonly unknown[] };
    const execute = (member: Member) => {
      const current: unknown = this.#latest(member, filter)[0]?.['last'];
      const last = [...$max, current].filter((value) => value instanceof Long);
      const greatest = last.reduce((one, other) => (one.greaterThan(other) ? one : other));
      this.#append(member, { _id: 'pets', last: greatest });
    };
    await this.#send('updateOne', execute, true);
  }

  /** Only with `updateOne`. */
  async bulkWrite(operations: readonly AnyBulkWriteOperation[]): Promise<void> {
    const execute = (member: Member) => {
      for (const operation of operations) {
        if (!('updateOne' in operation)) throw new Error('the model knows only updateOne');
        const { filter, update } = operation.updateOne as unknown as Readonly<
          Record<'filter' | 'update', Document>
        >;
        this.#update(member, filter, update);
      }
    };
    await this.#send('bulkWrite', execute, true);
  }

  #update(member: Member, filter: Document, { $inc = {}, $min = {}, $set = {} }: Document): Document | null {
    const { simulation, set } = this.#client;
    const [found] = this.#latest(member, filter);
    if (found === undefined) return null;
    const changed = { ...found, ...$set };
    for (const [field, by] of Object.entries($inc as Record<string, Long>)) {
      changed[field] = (found[field] as Long).add(by);
    }
    for (const [field, value] of Object.entries($min as Document)) {
      if (found[field] === undefined || (compare(value, found[field]) ?? 0) < 0)
        changed[field] = value as unknown;
    }
    const hasNoEffect =
      (set.flaw === 'leases-twice' && 'last' in $inc) || (set.flaw === 'forgets-ends' && 'revokedAt' in $min);
    if (!hasNoEffect || simulation.random.chance(0.8)) this.#append(member, changed);
    return changed;
  }

  /** @returns why the document was refused */
  #store(member: Member, document: Document, index: number): Duplicate | undefined {
    const { flaw } = this.#client.set;
    const stored = member.latest(this.#name);
    const existing = stored.get(String(document['_id']));
    if (existing !== undefined) this.#checkOneOwner(existing, document);
    if (flaw !== 'leases-twice' && existing !== undefined) return refusal(index, '_id');
    const key: unknown = document['idem']?.k;
    const isTaken = key !== undefined && stored.values().some((other) => other['idem']?.k === key);
    if (isTaken && flaw !== 'forgets-keys') return refusal(index, 'idem.k');
    this.#append(member, document);
    return undefined;
  }

  #append(member: Member, document: Document): void {
    member.append({ collection: this.#name, id: String(document['_id']), document });
  }

  #latest(member: Member, filter: Document): readonly Document[] {
    return candidates(member.latest(this.#name), filter).filter((document) => matches(document, filter));
  }

  #query(member: Member, filter: Document, options: FindOptions): Document[] {
    const isLocal = options.readConcern?.level === 'local';
    const documents = isLocal ? member.latest(this.#name) : member.shown(this.#name);
    const found = candidates(documents, filter).filter((document) => matches(document, filter));
    const direction = options.sort?.['_id'];
    if (direction !== undefined)
      found.sort((one, other) => direction * (compare(one['_id'], other['_id']) ?? 0));
    const limited = found.slice(0, options.limit);
    return options.raw === true ? limited.map((document) => toBytes(document, options)) : limited;
  }

  #send<T>(
    name: string,
    execute: (member: Member) => T,
    isWrite = false,
    special: Partial<Pick<Command<T>, 'notDurable' | 'lost'>> = {},
  ): Promise<T> {
    return this.#client.send({
      name: `${this.#name}.${name}`,
      isWrite,
      execute,
      notDurable: () => new MongoServerError({ message: 'interrupted', code: 11_602 }),
      lost: (error) => error,
      ...special,
    });
  }

  /** Lookups of keys share queries. A retry is another query, and those that wait for a confirmation begin together. */
  #checkRate(): void {
    const { simulation, elections, confirmedAtMs } = this.#client;
    const { nowMs, isMild, weather } = simulation;
    this.#findsMs.push(nowMs);
    const firstMs = this.#findsMs.at(-4) ?? -Infinity;
    const isCalm = isMild && weather.faults === 0 && elections === 0 && confirmedAtMs < firstMs;
    const tookMs = nowMs - firstMs;
    simulation.check(!isCalm || tookMs >= MIN_PAUSES_MS, () => `four lookups of keys within ${tookMs} ms`);
  }

  /** While nothing is lost, a process has one update of the counter in flight. */
  #checkUpdates(): void {
    const { simulation } = this.#client;
    const mayBeAbandoned = !simulation.isMild || this.#name !== 'counters' || this.#client.lostElsewhere > 0;
    simulation.check(
      mayBeAbandoned || this.#updates === 1,
      () => `${this.#updates} updates of the counter at once`,
    );
  }

  /** The counter gives no id twice, even though the primary key would refuse the second use. */
  #checkOneOwner(one: Document, other: Document): void {
    const { set, simulation } = this.#client;
    const isSame = String(one['op']) === String(other['op']);
    simulation.check(
      isSame || set.isCounterDamaged,
      () => `the id ${String(one['_id'])} was allocated twice`,
    );
  }

  #checkBatch(size: number): void {
    this.#client.simulation.check(
      size <= MAX_BATCH,
      () => `${size} calls share a round trip to ${this.#name}`,
    );
  }
}

/** All documents, or the few that can match a filter on their `_id`. */
function candidates(documents: ReadonlyMap<string, Document>, { _id: id }: Document): Document[] {
  if (typeof id !== 'string' && !(id instanceof Long)) return [...documents.values()];
  const found = documents.get(String(id));
  return found === undefined ? [] : [found];
}

function refusal(index: number, field: string): Duplicate {
  return { index, code: DUPLICATE_KEY, keyPattern: { [field]: 1 } };
}

/** As the driver reports a failed `insertMany`, a lost connection included. */
function bulkError(error: unknown, isNotDurable: boolean): MongoBulkWriteError {
  const result = { getWriteConcernError: () => (isNotDurable ? WRITE_CONCERN_TIMEOUT : undefined) };
  return new MongoBulkWriteError(
    error as ConstructorParameters<typeof MongoBulkWriteError>[0],
    result as unknown as BulkWriteResult,
  );
}

/** As a cursor with `raw: true` gives them. */
function toBytes(document: Document, { projection = {} }: FindOptions): Document {
  const fields = ['_id', ...Object.keys(projection)].map(
    (name) => [name, document[name] as unknown] as const,
  );
  return BSON.serialize(Object.fromEntries(fields));
}
