import {
  type Collection,
  type Db,
  MongoServerError,
  type TopologyDescription,
  type TopologyDescriptionChangedEvent,
} from 'mongodb';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
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
 * A majority read alone does not see them all. A new primary has every acknowledged write in its log, but may not show
 * it before it has committed an entry in its own term (Raft, section 5.4.2). A deposed primary may still believe that it
 * is the primary. A linearizable read solves both: it is answered when the primary has committed a further entry in its
 * term. From then on, majority reads from this primary show everything acknowledged before the linearizable read began.
 *
 * A primary must therefore answer one linearizable read, its proof, before the first read that it serves in its term.
 * Later reads cost a comparison. The driver reports a new primary before it sends anything to it, and a read during
 * which the primary changed is done again. While most members of the set cannot be seen, the primary may be a deposed
 * one: every read needs a proof. What is left: a list from a deposed primary before this service knows that it is one.
 *
 * Through mongos, which hides the primaries, only a miss is proven. Without a replica set there is nothing to prove.
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
   * @param isMiss whether a deposed primary may have given the outcome by mistake: a proof and another read confirm it
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
    if (primary !== this.#primary) throw new StorageUnavailable('the primary changed during the read');
    return result;
  }

  #look({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void {
    // The first event is the first that says what the driver knew before.
    this.#primary.name ??= nameOfPrimary(previousDescription);
    const name = nameOfPrimary(newDescription);
    if (name !== undefined && name !== this.#primary.name) this.#primary = this.#newPrimary(name);
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
  /** `undefined` until the driver reports a change. */
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

  /** It is in no replica set: no other server can be the primary. */
  get isStandalone(): boolean {
    return this.#isStandalone;
  }

  /** It shows everything that was acknowledged before its term. */
  get proven(): boolean {
    return this.#proven;
  }

  /** Resolves when a proof that began after the call has succeeded. Calls during a proof share the next one. */
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

/** Differs for each primary and each of its terms: the election id is made from the term. */
function nameOfPrimary({ servers }: TopologyDescription): string | undefined {
  const primary = [...servers.values()].find(({ type }) => type === 'RSPrimary');
  return primary && `${primary.address} ${primary.electionId?.toHexString()}`;
}

function never(): boolean {
  return false;
}
