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

/** The most calls that may share one round trip. */
const MAX_BATCH = 1_000;

/**
 * The least time from the first to the fourth lookup of keys. The adapter pauses for 5 ms between two queries. Two of
 * the lookups may begin together, so only two pauses are certain, and a timer may be one millisecond early.
 */
const MIN_FOUR_LOOKUPS_MS = 8;

const DUPLICATE_KEY = 11_000;
const WRITE_CONCERN_TIMEOUT = { code: 64, errmsg: 'waiting for replication timed out' } as const;

export type Command<T> = {
  readonly name: string;
  readonly isWrite: boolean;
  /** The effect on the server, when the command arrives. An error that it throws is the server's answer. */
  readonly execute: (member: Member) => T;
  /** Returns the server's answer if the write has been executed, but is not on a majority. */
  readonly notDurableError: () => Error;
  /** Returns the error with which the driver reports a lost connection. */
  readonly lostError: (error: Error) => Error;
};

/** The part of `MongoClientModel` that its collections use. */
type Connection = {
  readonly simulation: Simulation;
  readonly set: ReplicaSet;
  readonly knowsPrimary: boolean;
  readonly electionCount: number;
  readonly sentIds: Set<number>;
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
 * error of the model. The collection `pets` also has fences: documents that are no pets and reserve ids up to `upTo`.
 *
 * Flaws: `unordered` (an insert continues after a rejected document), `forgets-fences` (a pet overwrites a fence),
 * `forgets-keys` (no unique index on idempotency keys), `forgets-ends` (a revocation is acknowledged but not stored).
 */
export class MongoCollectionModel {
  readonly #client: Connection;
  readonly #name: string;
  /** The times when the queries of this collection began. */
  readonly #queryTimesMs: number[] = [];

  constructor(client: Connection, name: string) {
    this.#client = client;
    this.#name = name;
  }

  /** The command `insert`. Returns the reply of the server as the command defines it. */
  async insert({ documents, writeConcern }: Document): Promise<Document> {
    const { simulation, set } = this.#client;
    const batch = documents as readonly Document[];
    this.#checkBatch(batch.length);
    // The next primary may have lost the pets before a waiting insert, and then this insert would leave a gap of ids.
    const hasPrimaryOrFence = this.#client.knowsPrimary || batch.some((document) => 'upTo' in document);
    simulation.check(hasPrimaryOrFence, () => 'an insert of pets waits for a primary');
    simulation.check(writeConcern?.w === 'majority', () => 'an insert does not wait for a majority');
    let refusal: Duplicate | undefined;
    const execute = (member: Member) => {
      this.#noteTerm(member, batch);
      let n = 0;
      for (const [index, document] of batch.entries()) {
        if (refusal !== undefined && set.flaw !== 'unordered') break;
        const newRefusal = this.#storeWithoutGap(member, document, index);
        if (newRefusal === undefined) n++;
        refusal = newRefusal ?? refusal;
      }
      if (refusal !== undefined && refusal.index > 0) simulation.noteState('prefix');
      return { n, ...(refusal && { writeErrors: [refusal] }) };
    };
    const notDurableError = () => {
      if (refusal !== undefined) simulation.noteState('duplicate-not-durable');
      return notReplicated(refusal);
    };
    const ids = batch.map(({ _id }) => String(_id)).join(' ');
    return this.#send(`insert ${ids}`, execute, true, { notDurableError });
  }

  /**
   * Remembers the term in which each insert arrives, and records two rare states: a fence that takes an id of an
   * earlier insert of this client, and an insert that arrives a second time, in a later term.
   */
  #noteTerm(member: Member, batch: readonly Document[]): void {
    const { simulation, set, electionCount, sentIds } = this.#client;
    for (const { _id, op, upTo } of batch) {
      if (upTo !== undefined && electionCount > 0 && sentIds.has(Number(_id))) simulation.noteState('fence');
      if (op !== undefined) sentIds.add(Number(_id));
      const previousTerm = op === undefined ? undefined : set.termOfToken.get(String(op));
      if (previousTerm !== undefined && previousTerm < member.term) simulation.noteState('later-term');
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
      if (this.#client.confirmedAtMs < nowMs) this.#client.simulation.noteState('read-unconfirmed');
      return found;
    };
    return { toArray };
  }

  async findOne(filter: Document, options: FindOptions = {}): Promise<Document | null> {
    const isLinearizable = options.readConcern?.level === 'linearizable';
    const waitsForMajority = isLinearizable && this.#client.set.flaw !== 'confirms-nothing';
    const execute = (member: Member) => this.#query(member, filter, options);
    // Like a write, a linearizable read is answered only after a majority of the members has what the primary has.
    const { simulation } = this.#client;
    const notDurableError = () => {
      simulation.noteState('read-refused');
      return interrupted();
    };
    const name = `findOne ${options.readConcern?.level ?? ''}`;
    const [found] = await this.#send(name, execute, waitsForMajority, { notDurableError });
    if (isLinearizable) {
      simulation.noteState('read-confirmed');
      this.#client.confirmedAtMs = simulation.nowMs;
    }
    return found ?? null;
  }

  async insertOne(document: Document, { session }: SessionOptions = {}): Promise<void> {
    let refusal: Duplicate | undefined;
    const notDurableError = () => notReplicated(refusal);
    const execute = (member: Member) => {
      refusal = this.#store(member, document, 0);
      if (refusal !== undefined) throw new MongoServerError({ message: 'duplicate key', ...refusal });
    };
    if (session === undefined) await this.#send('insertOne', execute, true, { notDurableError });
    else session.add(execute, (run) => this.#send('transaction', run, true));
  }

  /** Deletes a document in the transaction of `session`. Without a session, nothing is deleted. */
  async deleteOne(
    filter: Document,
    { session }: SessionOptions,
  ): Promise<Readonly<Record<'deletedCount', number>>> {
    const findMatches = (member: Member) => this.#findLatest(member, filter);
    const [existing] = await this.#send('findOne to delete', findMatches);
    if (existing === undefined) return { deletedCount: 0 };
    session?.add((member) => {
      if (findMatches(member).length === 0)
        throw new MongoServerError({ message: 'write conflict', code: 112 });
      member.append({ collection: this.#name, id: String(existing['_id']), document: undefined });
    });
    return { deletedCount: 1 };
  }

  async insertMany(documents: readonly Document[]): Promise<void> {
    this.#checkBatch(documents.length);
    // The driver reports no write errors when there is a write concern error.
    const { code, errmsg: message } = WRITE_CONCERN_TIMEOUT;
    const notDurableError = () => bulkError({ message, code }, true);
    const execute = (member: Member) => {
      const duplicates = documents
        .map((document, index) => this.#store(member, document, index))
        .filter((refusal) => refusal !== undefined);
      if (duplicates.length > 0) {
        throw bulkError({ message: 'duplicate key', code: DUPLICATE_KEY, writeErrors: duplicates }, false);
      }
    };
    const lostError = (error: Error) => bulkError(error, false);
    await this.#send(`insertMany ${documents.length}`, execute, true, { notDurableError, lostError });
  }

  async findOneAndUpdate(filter: Document, update: Document): Promise<Document | null> {
    return this.#send('findOneAndUpdate', (member) => this.#update(member, filter, update), true);
  }

  /** Accepts only operations of the kind `updateOne`. */
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
    const [found] = this.#findLatest(member, filter);
    if (found === undefined) return null;
    const updatedDocument = { ...found, ...$set };
    for (const [field, value] of Object.entries($min as Document)) {
      if (found[field] === undefined || (compare(value, found[field]) ?? 0) < 0)
        updatedDocument[field] = value as unknown;
    }
    const hasNoEffect = set.flaw === 'forgets-ends' && 'revokedAt' in $min;
    if (!hasNoEffect || simulation.random.chance(0.8)) this.#append(member, updatedDocument);
    return updatedDocument;
  }

  /**
   * Stores a document, and checks that an insert of a pet leaves no gap: the id before it must be taken by a pet or by
   * a fence. A later insert could take the id of a gap, and ids would not ascend.
   */
  #storeWithoutGap(member: Member, document: Document, index: number): Duplicate | undefined {
    const refusal = this.#store(member, document, index);
    const idBefore = Number(document['_id']) - 1;
    const stored = member.latestDocuments(this.#name);
    const isFenced = () => stored.values().some(({ upTo }) => upTo !== undefined && Number(upTo) >= idBefore);
    const leavesNoGap =
      refusal !== undefined || 'upTo' in document || idBefore === 0 || stored.has(String(idBefore));
    this.#client.simulation.check(leavesNoGap || isFenced(), () => `an insert leaves out the id ${idBefore}`);
    return refusal;
  }

  /** @returns the refusal, or `undefined` if the document was stored */
  #store(member: Member, document: Document, index: number): Duplicate | undefined {
    const { flaw } = this.#client.set;
    const stored = member.latestDocuments(this.#name);
    const existing = stored.get(String(document['_id']));
    const isForgottenFence = flaw === 'forgets-fences' && existing?.['upTo'] !== undefined;
    if (existing !== undefined && !isForgottenFence) return duplicate(index, '_id');
    const key: unknown = document['idem']?.k;
    const isKeyTaken = key !== undefined && stored.values().some((other) => other['idem']?.k === key);
    if (isKeyTaken && flaw !== 'forgets-keys') return duplicate(index, 'idem.k');
    this.#append(member, document);
    return undefined;
  }

  #append(member: Member, document: Document): void {
    member.append({ collection: this.#name, id: String(document['_id']), document });
  }

  #findLatest(member: Member, filter: Document): readonly Document[] {
    const documents = candidates(member.latestDocuments(this.#name), filter);
    return documents.filter((document) => matches(document, filter));
  }

  #query(member: Member, filter: Document, options: FindOptions): Document[] {
    const isLocal = options.readConcern?.level === 'local';
    const documents = isLocal ? member.latestDocuments(this.#name) : member.shownDocuments(this.#name);
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
    overrides: Partial<Pick<Command<T>, 'notDurableError' | 'lostError'>> = {},
  ): Promise<T> {
    return this.#client.send({
      name: `${this.#name}.${name}`,
      isWrite,
      execute,
      notDurableError: interrupted,
      lostError: (error) => error,
      ...overrides,
    });
  }

  /**
   * Checks that lookups of keys share queries: then four queries take at least a minimum time. The check is left out
   * when retries may add queries, and when queries have waited for a confirmation of the primary and begin together.
   */
  #checkRate(): void {
    const { simulation, electionCount, confirmedAtMs } = this.#client;
    const { nowMs, isMild, rates } = simulation;
    this.#queryTimesMs.push(nowMs);
    const firstMs = this.#queryTimesMs.at(-4) ?? -Infinity;
    const isCalm = isMild && rates.faults === 0 && electionCount === 0 && confirmedAtMs < firstMs;
    const tookMs = nowMs - firstMs;
    simulation.check(!isCalm || tookMs >= MIN_FOUR_LOOKUPS_MS, () => `four lookups of keys in ${tookMs} ms`);
  }

  #checkBatch(size: number): void {
    this.#client.simulation.check(
      size <= MAX_BATCH,
      () => `${size} calls share a round trip to ${this.#name}`,
    );
  }
}

/** The documents that a filter may match: for a filter on one `_id` the document with this id, or all documents. */
function candidates(documents: ReadonlyMap<string, Document>, { _id: id }: Document): Document[] {
  if (typeof id !== 'string' && !(id instanceof Long)) return [...documents.values()];
  const found = documents.get(String(id));
  return found === undefined ? [] : [found];
}

function notReplicated(refusal: Duplicate | undefined): MongoWriteConcernError {
  const writeErrors = refusal && { writeErrors: [refusal] };
  return new MongoWriteConcernError({ ok: 1, writeConcernError: WRITE_CONCERN_TIMEOUT, ...writeErrors });
}

function interrupted(): MongoServerError {
  return new MongoServerError({ message: 'interrupted', code: 11_602 });
}

function duplicate(index: number, field: string): Duplicate {
  return { index, code: DUPLICATE_KEY, keyPattern: { [field]: 1 } };
}

/** The error with which the driver reports a failed `insertMany`, or a connection that is lost during it. */
function bulkError(error: unknown, isNotDurable: boolean): MongoBulkWriteError {
  const result = { getWriteConcernError: () => (isNotDurable ? WRITE_CONCERN_TIMEOUT : undefined) };
  return new MongoBulkWriteError(
    error as ConstructorParameters<typeof MongoBulkWriteError>[0],
    result as unknown as BulkWriteResult,
  );
}

/** The document as bytes (BSON), as in a reply with the option `fieldsAsRaw`. */
function toBytes(document: Document, { projection = document }: FindOptions): Document {
  const fields = ['_id', ...Object.keys(projection)].map(
    (name) => [name, document[name] as unknown] as const,
  );
  return BSON.serialize(Object.fromEntries(fields));
}

/** A transaction. Its steps take effect together, as one write. */
export class SessionModel {
  readonly #steps: ((member: Member) => void)[] = [];
  #commit: ((run: (member: Member) => void) => Promise<void>) | undefined;

  /** @param commit sends the transaction. The `commit` of the last step is used, if the step has one */
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
