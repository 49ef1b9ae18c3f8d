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
import { compare, matches } from './mongo-match.ts';
import type { Member, ReplicaSet } from './replica-set.ts';
import type { Simulation } from './simulation.ts';

/** As many calls share a round trip at most. */
const MAX_BATCH = 1_000;

/** Three lookups of keys after another take at least two pauses of 5 ms. A timer may be a millisecond early. */
const MIN_PAUSES_MS = 8;

const DUPLICATE_KEY = 11_000;
const WRITE_CONCERN_TIMEOUT = { code: 64, errmsg: 'waiting for replication timed out' } as const;

export type Command<T> = {
  readonly name: string;
  readonly isWrite: boolean;
  /** Runs on the server at once. What it throws is the server's answer. */
  readonly execute: (member: Member) => T;
  /** The server's answer if a write that was executed is not on a majority. */
  readonly notDurable: () => Error;
  /** How the driver reports a lost connection. */
  readonly lost: (error: Error) => Error;
};

/** The client of a process, as its collections use it. */
type Connection = {
  readonly simulation: Simulation;
  readonly set: ReplicaSet;
  readonly knowsPrimary: boolean;
  readonly elections: number;
  readonly claimed: Set<number>;
  confirmedAtMs: number;
  send<T>(command: Command<T>): Promise<T>;
};

type FindOptions = {
  readonly readConcern?: { readonly level: string };
  readonly sort?: Readonly<Record<string, 1 | -1>>;
  readonly limit?: number;
  readonly projection?: Readonly<Record<string, 1>>;
  readonly raw?: boolean;
};

type SessionOptions = { readonly session?: SessionModel };

type Duplicate = { readonly index: number; readonly code: number; readonly keyPattern: Document };

/**
 * A collection, with the methods and operators of the driver that the adapter uses. Any other filter or update is an
 * error of the model.
 *
 * Flaws: `unordered` (an insert goes on after a rejected document), `forgets-fences` (a pet overwrites a fence),
 * `forgets-keys` (no unique index on idempotency keys), `forgets-ends` (a revocation is acknowledged without effect).
 */
export class MongoCollectionModel {
  readonly #client: Connection;
  readonly #name: string;
  /** When queries began. */
  readonly #findsMs: number[] = [];

  constructor(client: Connection, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /** The command of this name, with its raw reply. */
  async insert({ documents, writeConcern }: Document): Promise<Document> {
    const { simulation, set } = this.#client;
    const sent = documents as readonly Document[];
    this.#checkBatch(sent.length);
    // The one that comes may have lost the ids before it.
    const goesToKnown = this.#client.knowsPrimary || sent.some((document) => 'upTo' in document);
    simulation.check(goesToKnown, () => 'a claim waits for a primary');
    simulation.check(writeConcern?.w === 'majority', () => 'an insert does not wait for a majority');
    let refused: Duplicate | undefined;
    const execute = (member: Member) => {
      this.#noteTerm(member, sent);
      let n = 0;
      for (const [index, document] of sent.entries()) {
        if (refused !== undefined && set.flaw !== 'unordered') break;
        const refusedNow = this.#claim(member, document, index);
        if (refusedNow === undefined) n++;
        refused = refusedNow ?? refused;
      }
      if (refused !== undefined && refused.index > 0) simulation.reach('prefix');
      return { n, ...(refused && { writeErrors: [refused] }) };
    };
    const notDurable = () => {
      if (refused !== undefined) simulation.reach('duplicate-not-durable');
      return notReplicated(refused);
    };
    const ids = sent.map(({ _id }) => String(_id)).join(' ');
    return this.#send(`insert ${ids}`, execute, true, { notDurable });
  }

  /** A fence that takes an id which this client has claimed before ends that claim. */
  #noteTerm(member: Member, sent: readonly Document[]): void {
    const { simulation, set, elections, claimed } = this.#client;
    for (const { _id, op, upTo } of sent) {
      if (upTo !== undefined && elections > 0 && claimed.has(Number(_id))) simulation.reach('fence');
      if (op !== undefined) claimed.add(Number(_id));
      const before = op === undefined ? undefined : set.termOfToken.get(String(op));
      if (before !== undefined && before < member.term) simulation.reach('later-term');
      if (op !== undefined) set.termOfToken.set(String(op), member.term);
    }
  }

  find(filter: Document, options: FindOptions = {}) {
    const { $in } = (filter['_id'] ?? {}) as { readonly $in?: readonly unknown[] };
    this.#checkBatch($in?.length ?? 1);
    if (this.#name === 'api_keys') this.#checkRate();
    const toArray = async () => {
      const { nowMs } = this.#client.simulation;
      const found = await this.#send('find', (member) => this.#query(member, filter, options));
      if (this.#client.confirmedAtMs < nowMs) this.#client.simulation.reach('read-unconfirmed');
      return found;
    };
    return { toArray };
  }

  async findOne(filter: Document, options: FindOptions = {}): Promise<Document | null> {
    const isLinearizable = options.readConcern?.level === 'linearizable';
    const confirm = isLinearizable && this.#client.set.flaw !== 'confirms-nothing';
    const execute = (member: Member) => this.#query(member, filter, options);
    // A linearizable read is answered after a majority has confirmed it, as a write is.
    const { simulation } = this.#client;
    const notDurable = () => {
      simulation.reach('read-refused');
      return interrupted();
    };
    const name = `findOne ${options.readConcern?.level ?? ''}`;
    const [found] = await this.#send(name, execute, confirm, { notDurable });
    if (isLinearizable) {
      simulation.reach('read-confirmed');
      this.#client.confirmedAtMs = simulation.nowMs;
    }
    return found ?? null;
  }

  async insertOne(document: Document, { session }: SessionOptions = {}): Promise<void> {
    let refused: Duplicate | undefined;
    const notDurable = () => notReplicated(refused);
    const execute = (member: Member) => {
      refused = this.#store(member, document, 0);
      if (refused !== undefined) throw new MongoServerError({ message: 'duplicate key', ...refused });
    };
    if (session === undefined) await this.#send('insertOne', execute, true, { notDurable });
    else session.add(execute, (run) => this.#send('transaction', run, true));
  }

  /** Only in a transaction. */
  async deleteOne(
    filter: Document,
    { session }: SessionOptions,
  ): Promise<Readonly<Record<'deletedCount', number>>> {
    const found = (member: Member) => this.#latest(member, filter);
    const [before] = await this.#send('findOne to delete', found);
    if (before === undefined) return { deletedCount: 0 };
    session?.add((member) => {
      if (found(member).length === 0) throw new MongoServerError({ message: 'write conflict', code: 112 });
      member.append({ collection: this.#name, id: String(before['_id']), document: undefined });
    });
    return { deletedCount: 1 };
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
    return this.#send('findOneAndUpdate', (member) => this.#update(member, filter, update), true);
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

  #update(member: Member, filter: Document, { $min = {}, $set = {} }: Document): Document | null {
    const { simulation, set } = this.#client;
    const [found] = this.#latest(member, filter);
    if (found === undefined) return null;
    const changed = { ...found, ...$set };
    for (const [field, value] of Object.entries($min as Document)) {
      if (found[field] === undefined || (compare(value, found[field]) ?? 0) < 0)
        changed[field] = value as unknown;
    }
    const hasNoEffect = set.flaw === 'forgets-ends' && 'revokedAt' in $min;
    if (!hasNoEffect || simulation.random.chance(0.8)) this.#append(member, changed);
    return changed;
  }

  /** A claim leaves no id out, except behind a fence. Otherwise a later one could take it. */
  #claim(member: Member, document: Document, index: number): Duplicate | undefined {
    const refused = this.#store(member, document, index);
    const before = Number(document['_id']) - 1;
    const taken = member.latest(this.#name);
    const isFenced = () => taken.values().some(({ upTo }) => upTo !== undefined && Number(upTo) >= before);
    const isSound = refused !== undefined || 'upTo' in document || before === 0 || taken.has(String(before));
    this.#client.simulation.check(isSound || isFenced(), () => `nobody has the id ${before}`);
    return refused;
  }

  /** @returns why the document was refused */
  #store(member: Member, document: Document, index: number): Duplicate | undefined {
    const { flaw } = this.#client.set;
    const stored = member.latest(this.#name);
    const existing = stored.get(String(document['_id']));
    const isForgotten = flaw === 'forgets-fences' && existing?.['upTo'] !== undefined;
    if (existing !== undefined && !isForgotten) return refusal(index, '_id');
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
      notDurable: interrupted,
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

function notReplicated(refused: Duplicate | undefined): MongoWriteConcernError {
  const writeErrors = refused && { writeErrors: [refused] };
  return new MongoWriteConcernError({ ok: 1, writeConcernError: WRITE_CONCERN_TIMEOUT, ...writeErrors });
}

function interrupted(): MongoServerError {
  return new MongoServerError({ message: 'interrupted', code: 11_602 });
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

/** As a reply with `fieldsAsRaw` has them. */
function toBytes(document: Document, { projection = document }: FindOptions): Document {
  const fields = ['_id', ...Object.keys(projection)].map(
    (name) => [name, document[name] as unknown] as const,
  );
  return BSON.serialize(Object.fromEntries(fields));
}

/** A transaction, which takes effect as one write. */
export class SessionModel {
  readonly #steps: ((member: Member) => void)[] = [];
  #commit: ((run: (member: Member) => void) => Promise<void>) | undefined;

  /** @param commit of the last step is used */
  add(step: (member: Member) => void, commit?: (run: (member: Member) => void) => Promise<void>): void {
    this.#steps.push(step);
    this.#commit = commit;
  }

  async withTransaction(work: () => Promise<void>): Promise<void> {
    await work();
    await this.#commit?.((member) => {
      for (const step of this.#steps) step(member);
    });
  }
}
