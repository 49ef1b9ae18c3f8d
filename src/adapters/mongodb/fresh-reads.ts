import {
  type Collection,
  type Db,
  MongoServerError,
  type TopologyDescription,
  type TopologyDescriptionChangedEvent,
} from 'mongodb';
import { StorageUnavailable } from '../../application/errors.ts';
import type { Deadline } from './deadline.ts';
import { type CounterDocument, countersOf } from './schema.ts';

/**
 * How long the server may try to prove that it is the primary, in milliseconds. One that has lost its majority would
 * try for ever: https://www.mongodb.com/docs/manual/reference/read-concern-linearizable/
 */
const PROOF_MS = 2_000;

const LINEARIZABLE = {
  readPreference: 'primary',
  readConcern: { level: 'linearizable' },
  maxTimeMS: PROOF_MS,
} as const;

/** What a server without a replica set says to a linearizable read. */
const NOT_A_REPLICA_SET = 123;

/**
 * Reads that see every write acknowledged before they began, whichever service it was acknowledged by.
 *
 * A majority read alone does not see them all. A new primary has every acknowledged write in its log, but shows it only
 * when it has committed an entry of its own term (Raft, section 5.4.2). And a deposed primary may still believe that it
 * is the primary. A linearizable read is the cure of both: it is answered when the primary has committed a further entry
 * in its term. From then on the same primary shows, to majority reads, all that was acknowledged before that read began.
 *
 * So a primary has to answer one linearizable read, its proof, before the first read that it serves in its term. In the
 * steady state a read costs no more than a comparison. The driver tells of a new primary before it sends it anything;
 * a read during which the primary has changed is done again.
 */
export class FreshReads {
  readonly #counters: Collection<CounterDocument>;
  #primary: Primary;
  #alone = false;

  constructor(db: Db) {
    this.#counters = countersOf(db);
    this.#primary = this.#newPrimary(undefined);
    db.client.on('topologyDescriptionChanged', (event) => this.#look(event));
  }

  /**
   * The outcome of majority reads, tried again until the deadline.
   *
   * @param isMiss of an outcome that a deposed primary may give by mistake: it is confirmed by a proof and a further read
   * @throws {StorageUnavailable}
   */
  async read<T>(
    deadline: Deadline,
    work: () => Promise<T>,
    isMiss: (result: T) => boolean = never,
  ): Promise<T> {
    return deadline.bound(deadline.retry(() => this.#attempt(work, isMiss)));
  }

  async #attempt<T>(work: () => Promise<T>, isMiss: (result: T) => boolean): Promise<T> {
    const primary = this.#primary;
    const provesFirst = this.#alone || !primary.proven;
    if (provesFirst) await primary.prove();
    let result = await work();
    if (!provesFirst && !primary.isStandalone && isMiss(result)) {
      await primary.prove();
      result = await work();
    }
    if (primary !== this.#primary) throw new StorageUnavailable('MongoDB has got another primary meanwhile');
    return result;
  }

  #look({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void {
    // The driver tells what it knows only when that changes.
    this.#primary.name ??= nameOfPrimary(previousDescription);
    const name = nameOfPrimary(newDescription);
    if (name !== undefined && name !== this.#primary.name) this.#primary = this.#newPrimary(name);
    // Who sees most of the members sees a primary that the others have elected.
    const members = [...newDescription.servers.values()];
    const seen = members.filter(({ type }) => type !== 'Unknown' && type !== 'PossiblePrimary');
    const isSet = seen.some(({ setName }) => setName !== null);
    this.#alone = isSet && (name === undefined || 2 * seen.length <= members.length);
  }

  #newPrimary(name: string | undefined): Primary {
    return new Primary(name, () => this.#counters.findOne({ _id: 'pets' }, LINEARIZABLE));
  }
}

/** A member of the replica set in one of its terms as the primary. */
class Primary {
  /** `undefined` until the driver tells. */
  name: string | undefined;
  readonly #ask: () => Promise<unknown>;
  #isStandalone = false;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #proven = false;

  constructor(name: string | undefined, ask: () => Promise<unknown>) {
    this.name = name;
    this.#ask = ask;
  }

  /** It is in no replica set: there is no other that could be the primary. */
  get isStandalone(): boolean {
    return this.#isStandalone;
  }

  /** It shows everything that was acknowledged before its term. */
  get proven(): boolean {
    return this.#proven;
  }

  /** Resolves when a proof has succeeded that began after the call. All who wait for the one before share the next. */
  async prove(): Promise<void> {
    this.#next ??= this.#proveAfter(this.#running);
    await this.#next;
  }

  async #proveAfter(running: Promise<void>): Promise<void> {
    await Promise.allSettled([running]);
    this.#running = this.#next ?? running;
    this.#next = undefined;
    try {
      await this.#ask();
    } catch (error) {
      if (!(error instanceof MongoServerError && error.code === NOT_A_REPLICA_SET)) throw error;
      this.#isStandalone = true;
    }
    this.#proven = true;
  }
}

/** Tells a primary from all others, and from itself in another term: the election id is made from the term. */
function nameOfPrimary({ servers }: TopologyDescription): string | undefined {
  const primary = [...servers.values()].find(({ type }) => type === 'RSPrimary');
  return primary && `${primary.address} ${primary.electionId?.toHexString()}`;
}

function never(): boolean {
  return false;
}
