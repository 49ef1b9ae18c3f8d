import { EventEmitter } from 'node:events';
import {
  type Db,
  type Document,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  type TopologyDescription,
} from 'mongodb';
import { type Command, MongoCollectionModel, SessionModel } from './mongo-collection-model.ts';
import { MAX_UNNOTICED_MS, type Member, type ReplicaSet } from './replica-set.ts';
import type { Simulation } from './simulation.ts';

/** The value of the driver's option `socketTimeoutMS`. */
const SOCKET_TIMEOUT_MS = 8_000;

/** The value of the driver's option `wtimeoutMS`. */
const WRITE_TIMEOUT_MS = 5_000;

/** The codes of the errors that a server returns while it starts, stops, or steps down as the primary. */
const OUTAGE_CODES = [91, 189, 11600, 11602, 10107, 13435, 13436] as const;

/** The states of the members when the client sees all of them. */
const ALL_MEMBERS_SEEN = ['RSPrimary', 'RSSecondary', 'RSSecondary'] as const;

type Settle<T> = Pick<PromiseWithResolvers<T>, 'resolve' | 'reject'>;

/**
 * What goes wrong with a command. `refused`: the server replies with an error. `reply broken`: the command has an
 * effect, but the connection ends before the reply.
 */
type Fault = 'none' | 'refused' | 'request lost' | 'reply lost' | 'reply broken';

/**
 * The driver of one process, as far as the adapter sees it. The driver sends each command to the primary that it knows,
 * and notices a new primary after a while. A command may be refused before it has an effect, its request or its reply
 * may be lost, and each of them may take long. A lost command settles with an error at the socket timeout, or never.
 * While the driver knows no primary, commands wait.
 *
 * Flaws: `never-notices` (the first client sends commands to a deposed primary, which never steps down),
 * `hides-elections` (the driver uses a new primary and emits no event), `retries-claims` (the driver sends a failed
 * insert a second time), `renumbers-early` (the server does not wait for a majority when it rejects a document).
 */
export class MongoClientModel {
  readonly set: ReplicaSet;
  readonly simulation: Simulation;
  /**
   * The number of lost commands on the collection `pets` that are not the command `insert`. These commands settle late
   * or never.
   */
  lostOnPets = 0;
  /** The number of lost commands `insert` on `pets`, and of lost commands on other collections. */
  lostElsewhere = 0;
  /**
   * When a linearizable read has last confirmed that the primary is not deposed. Lookups of keys wait for a
   * confirmation, and then begin at the same time.
   */
  confirmedAtMs = -Infinity;
  /** The ids of the pets that this client has sent in inserts. */
  readonly sentIds = new Set<number>();
  /** The number of elections so far. Each of them leaves this client with a deposed primary for a while. */
  electionCount = 0;
  /** The last event has reported that this client does not see all members. */
  #hasReportedLoss = false;
  #member: Member;
  /** The commands that wait for a primary. `undefined` while this client knows a primary. */
  #waitingCommands: (() => void)[] | undefined;
  readonly #events = new EventEmitter();
  /** The members as the last event has described them. */
  #lastDescription: TopologyDescription;

  constructor(set: ReplicaSet) {
    this.set = set;
    this.simulation = set.simulation;
    this.#member = set.primary;
    this.#lastDescription = describeMembers(set.primary, ALL_MEMBERS_SEEN);
    set.clients.push(this);
  }

  /** The part of a `Db` that the adapter uses. */
  get db(): Db {
    const collection = (name: string) => new MongoCollectionModel(this, name);
    const command = (document: Document) => this.#command(document);
    const client = Object.assign(this.#events, { withSession });
    return { client, collection, command, databaseName: 'petstore' } as unknown as Db;
  }

  get knowsPrimary(): boolean {
    return this.#waitingCommands === undefined;
  }

  /** The primary of this client is deposed, and the code under test cannot know that. */
  get hasUnnoticedPrimary(): boolean {
    return this.#member !== this.set.primary && !this.#hasReportedLoss;
  }

  onElection(member: Member): void {
    const { random } = this.simulation;
    this.electionCount++;
    if (this.set.flaw === 'never-notices' && this.set.clients[0] === this) return;
    const noticesAfterMs = random.between(0, random.pick([3, 50, MAX_UNNOTICED_MS]));
    if (random.chance(0.4)) {
      this.simulation.later('a client loses sight', noticesAfterMs, () => this.#loseSight());
      this.simulation.later('a client is back', noticesAfterMs + random.between(0, 8_000), () =>
        this.#discover(member),
      );
    } else this.simulation.later('a client sees the primary', noticesAfterMs, () => this.#discover(member));
  }

  /** From now on this client sees no member, only the old primary, or only the other two members. */
  #loseSight(): void {
    if (this.#member === this.set.primary || !this.knowsPrimary) return;
    const types = this.simulation.random.pick([[], ['RSPrimary'], ['Unknown', 'RSSecondary', 'RSSecondary']]);
    this.#hasReportedLoss = true;
    if (!types.includes('RSPrimary')) this.#waitingCommands ??= [];
    this.#emitDescription(this.#member, types);
  }

  #discover(member: Member): void {
    if (this.#member.term >= member.term) return;
    this.#hasReportedLoss = false;
    this.#member = member;
    // The driver also sends the waiting commands before it emits the event.
    for (const send of this.#waitingCommands?.splice(0) ?? []) send();
    this.#waitingCommands = undefined;
    this.#emitDescription(member, ALL_MEMBERS_SEEN);
  }

  #emitDescription(member: Member, types: readonly string[]): void {
    if (this.set.flaw === 'hides-elections') return;
    const newDescription = describeMembers(member, types);
    this.#events.emit('topologyDescriptionChanged', {
      previousDescription: this.#lastDescription,
      newDescription,
    });
    this.#lastDescription = newDescription;
  }

  #command(document: Document): Promise<Document> {
    if ('find' in document) return this.#find(document);
    const insert = () => new MongoCollectionModel(this, document['insert'] as string).insert(document);
    if (this.set.flaw !== 'retries-claims') return insert();
    return insert().catch(async () => {
      await this.simulation.wait('the driver tries again', 100);
      return insert();
    });
  }

  /** The command `find`, with documents as bytes (BSON). */
  async #find({ find, filter, ...options }: Document): Promise<Document> {
    const collection = new MongoCollectionModel(this, find as string);
    const cursor = collection.find(filter as Document, { ...options, raw: true });
    return { cursor: { firstBatch: await cursor.toArray() } };
  }

  send<T>(command: Command<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const dispatch = () => this.#dispatch(command, { resolve, reject });
    if (this.#waitingCommands === undefined) dispatch();
    else this.#waitingCommands.push(dispatch);
    return promise;
  }

  #dispatch<T>(command: Command<T>, { resolve, reject }: Settle<T>): void {
    const knownPrimary = this.#member;
    const fault = this.#fault();
    this.simulation.later(`${command.name} arrives`, this.simulation.latencyMs(), () => {
      let member = knownPrimary;
      while (member.reelectedMember !== undefined) member = member.reelectedMember;
      if (member.isDead) reject(command.lostError(resetError()));
      else if (fault === 'request lost') this.#lose(command, reject);
      else if (fault === 'refused' || (command.isWrite && member.hasSteppedDown)) reject(this.#refusal());
      else this.#execute(command, member, fault, { resolve, reject });
    });
  }

  #execute<T>(command: Command<T>, member: Member, fault: Fault, { resolve, reject }: Settle<T>): void {
    const { simulation, set } = this;
    const { random } = simulation;
    let settle: () => void;
    let acknowledgesEarly = set.flaw === 'acknowledges-early';
    try {
      const result = command.execute(member);
      acknowledgesEarly ||=
        set.flaw === 'renumbers-early' && (result as Document | undefined)?.['writeErrors'] !== undefined;
      settle = () => resolve(result);
    } catch (error) {
      // Any other error is a mistake of the model, not an answer of the server.
      if (!(error instanceof MongoServerError)) throw error;
      settle = () => reject(error);
    }
    const reply = () => {
      if (member.isDead || fault === 'reply broken') reject(command.lostError(resetError()));
      else if (fault === 'reply lost') this.#lose(command, reject);
      else settle();
    };
    const { length } = member.log;
    const finishWrite = () => {
      const isDurable = set.commit(member, length) || acknowledgesEarly;
      if (!isDurable) settle = () => reject(random.chance(0.5) ? command.notDurableError() : this.#refusal());
      if (random.chance(0.5)) reply();
      else simulation.later(`${command.name} is answered`, simulation.latencyMs(), reply);
    };
    if (command.isWrite) {
      const aloneMs = Math.min(member.isAloneUntilMs - simulation.nowMs, WRITE_TIMEOUT_MS);
      const replicatedAfterMs = Math.max(simulation.latencyMs(), acknowledgesEarly ? 0 : aloneMs);
      simulation.later(`${command.name} is replicated`, replicatedAfterMs, finishWrite);
    } else {
      if (member !== set.primary) simulation.noteState('deposed-read');
      simulation.later(`${command.name} is answered`, simulation.latencyMs(), reply);
    }
  }

  #fault(): Fault {
    const { random, rates } = this.simulation;
    if (!random.chance(rates.faults)) return 'none';
    return random.pick(['refused', 'request lost', 'reply lost', 'reply broken']);
  }

  #lose(command: Command<unknown>, reject: (error: Error) => void): void {
    const { random } = this.simulation;
    if (/^pets\.(?!insert )/.test(command.name)) this.lostOnPets++;
    else this.lostElsewhere++;
    if (random.chance(0.5)) return;
    this.simulation.later(`${command.name} times out`, SOCKET_TIMEOUT_MS, () =>
      reject(command.lostError(new MongoNetworkTimeoutError('timed out'))),
    );
  }

  #refusal(): MongoServerError {
    const code = this.simulation.random.pick(OUTAGE_CODES);
    return new MongoServerError({ message: `code ${code}`, code } satisfies Document);
  }
}

/** A model of `client.withSession`. A transaction of the session has the effect of a single write. */
async function withSession(work: (session: SessionModel) => Promise<void>): Promise<void> {
  await work(new SessionModel());
}

function resetError(): MongoNetworkError {
  return new MongoNetworkError('connection reset');
}

/** Describes a set of three members, whose primary is or was `member`. `types` are the states that the client sees. */
function describeMembers(member: Member, types: readonly string[]): TopologyDescription {
  const servers = [0, 1, 2].map((index) => {
    const address = `member-${(member.term + index) % 3}`;
    const type = types[index] ?? 'Unknown';
    if (type === 'Unknown') return [address, { address, type, setName: null }] as const;
    return [address, { address, type, setName: 'rs', electionId: member.electionId }] as const;
  });
  return { servers: new Map<string, unknown>(servers) } as unknown as TopologyDescription;
}
