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

/** As `socketTimeoutMS` is set. */
const SOCKET_TIMEOUT_MS = 8_000;

/** As `wtimeoutMS` is set. */
const WRITE_TIMEOUT_MS = 5_000;

/** How the server answers commands while it stops, starts or steps down. */
const OUTAGE_CODES = [91, 189, 11600, 11602, 10107, 13435, 13436] as const;

/** The members that a client sees when nothing is wrong. */
const WHOLE = ['RSPrimary', 'RSSecondary', 'RSSecondary'] as const;

type Settle<T> = Pick<PromiseWithResolvers<T>, 'resolve' | 'reject'>;

/** Where a command is lost. */
type Fault = 'none' | 'refused' | 'request lost' | 'reply lost' | 'reply broken';

/**
 * The driver of one process, as far as the adapter sees it: it sends each command to the primary that it knows, and
 * learns of another one after a while. A command may be refused before its effect, its request or its reply may be lost,
 * and each way may take long. A lost one settles with an error at the socket timeout, or never. While it knows no
 * primary, commands wait.
 *
 * Flaws: `never-notices` (the first client keeps asking a deposed primary, which never steps down), `hides-elections` (it
 * goes to another primary without telling the program), `retries-claims` (it sends a failed insert again by itself),
 * `renumbers-early` (the server does not wait for a majority when it rejects a document).
 */
export class MongoClientModel {
  readonly set: ReplicaSet;
  readonly simulation: Simulation;
  /** Commands on the collection of pets, but for claims, that were lost without an error, at least for a while. */
  lostOnPets = 0;
  /** Other commands that were. */
  lostElsewhere = 0;
  /** When the primary was last confirmed. The lookups that waited for it begin together. */
  confirmedAtMs = -Infinity;
  /** The ids of the pets that it has sent. */
  readonly claimed = new Set<number>();
  /** How often an election has left this client with a deposed primary. */
  elections = 0;
  /** It sees no majority of the members, and the program has been told. */
  #isInMinority = false;
  #member: Member;
  /** The commands that wait for a primary, while it knows none. */
  #waiting: (() => void)[] | undefined;
  readonly #events = new EventEmitter();
  /** What the program knows. */
  #told: TopologyDescription;

  constructor(set: ReplicaSet) {
    this.set = set;
    this.simulation = set.simulation;
    this.#member = set.primary;
    this.#told = description(set.primary, WHOLE);
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
    return this.#waiting === undefined;
  }

  /** Its primary is a deposed one, and the program cannot know that. */
  get isFooled(): boolean {
    return this.#member !== this.set.primary && !this.#isInMinority;
  }

  onElection(member: Member): void {
    const { random } = this.simulation;
    this.elections++;
    if (this.set.flaw === 'never-notices' && this.set.clients[0] === this) return;
    const noticesAfterMs = random.between(0, random.pick([3, 50, MAX_UNNOTICED_MS]));
    if (random.chance(0.4)) {
      this.simulation.later('a client loses sight', noticesAfterMs, () => this.#loseSight());
      this.simulation.later('a client is back', noticesAfterMs + random.between(0, 8_000), () =>
        this.#discover(member),
      );
    } else this.simulation.later('a client sees the primary', noticesAfterMs, () => this.#discover(member));
  }

  /** Of all members, of all but the old primary, or of that one. */
  #loseSight(): void {
    if (this.#member === this.set.primary || !this.knowsPrimary) return;
    const types = this.simulation.random.pick([[], ['RSPrimary'], ['Unknown', 'RSSecondary', 'RSSecondary']]);
    this.#isInMinority = true;
    if (!types.includes('RSPrimary')) this.#waiting ??= [];
    this.#tell(this.#member, types);
  }

  #discover(member: Member): void {
    if (this.#member.term >= member.term) return;
    this.#isInMinority = false;
    this.#member = member;
    // As the driver does: first it sends what waits.
    for (const send of this.#waiting?.splice(0) ?? []) send();
    this.#waiting = undefined;
    this.#tell(member, WHOLE);
  }

  #tell(member: Member, types: readonly string[]): void {
    if (this.set.flaw === 'hides-elections') return;
    const newDescription = description(member, types);
    this.#events.emit('topologyDescriptionChanged', {
      previousDescription: this.#told,
      newDescription,
    });
    this.#told = newDescription;
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

  /** With raw documents. */
  async #find({ find, filter, ...options }: Document): Promise<Document> {
    const collection = new MongoCollectionModel(this, find as string);
    const found = collection.find(filter as Document, { ...options, raw: true });
    return { cursor: { firstBatch: await found.toArray() } };
  }

  send<T>(command: Command<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const dispatch = () => this.#dispatch(command, { resolve, reject });
    if (this.#waiting === undefined) dispatch();
    else this.#waiting.push(dispatch);
    return promise;
  }

  #dispatch<T>(command: Command<T>, { resolve, reject }: Settle<T>): void {
    const known = this.#member;
    const fault = this.#fault();
    this.simulation.later(`${command.name} arrives`, this.simulation.latencyMs(), () => {
      let member = known;
      while (member.next !== undefined) member = member.next;
      if (member.isDead) reject(command.lost(resetError()));
      else if (fault === 'request lost') this.#lose(command, reject);
      else if (fault === 'refused' || (command.isWrite && member.hasSteppedDown)) reject(this.#refusal());
      else this.#execute(command, member, fault, { resolve, reject });
    });
  }

  #execute<T>(command: Command<T>, member: Member, fault: Fault, { resolve, reject }: Settle<T>): void {
    const { simulation, set } = this;
    const { random } = simulation;
    let settle: () => void;
    let countsAtOnce = set.flaw === 'acknowledges-early';
    try {
      const result = command.execute(member);
      countsAtOnce ||=
        set.flaw === 'renumbers-early' && (result as Document | undefined)?.['writeErrors'] !== undefined;
      settle = () => resolve(result);
    } catch (error) {
      // The model's own mistakes are no answers.
      if (!(error instanceof MongoServerError)) throw error;
      settle = () => reject(error);
    }
    const reply = () => {
      if (member.isDead || fault === 'reply broken') reject(command.lost(resetError()));
      else if (fault === 'reply lost') this.#lose(command, reject);
      else settle();
    };
    const { length } = member.log;
    const onMajority = () => {
      const isDurable = set.commit(member, length) || countsAtOnce;
      if (!isDurable) settle = () => reject(random.chance(0.5) ? command.notDurable() : this.#refusal());
      if (random.chance(0.5)) reply();
      else simulation.later(`${command.name} is answered`, simulation.latencyMs(), reply);
    };
    if (command.isWrite) {
      const aloneMs = Math.min(member.isAloneUntilMs - simulation.nowMs, WRITE_TIMEOUT_MS);
      const replicatedAfterMs = Math.max(simulation.latencyMs(), countsAtOnce ? 0 : aloneMs);
      simulation.later(`${command.name} is replicated`, replicatedAfterMs, onMajority);
    } else {
      if (member !== set.primary) simulation.reach('deposed-read');
      simulation.later(`${command.name} is answered`, simulation.latencyMs(), reply);
    }
  }

  #fault(): Fault {
    const { random, weather } = this.simulation;
    if (!random.chance(weather.faults)) return 'none';
    return random.pick(['refused', 'request lost', 'reply lost', 'reply broken']);
  }

  #lose(command: Command<unknown>, reject: (error: Error) => void): void {
    const { random } = this.simulation;
    if (/^pets\.(?!insert )/.test(command.name)) this.lostOnPets++;
    else this.lostElsewhere++;
    if (random.chance(0.5)) return;
    this.simulation.later(`${command.name} times out`, SOCKET_TIMEOUT_MS, () =>
      reject(command.lost(new MongoNetworkTimeoutError('timed out'))),
    );
  }

  #refusal(): MongoServerError {
    const code = this.simulation.random.pick(OUTAGE_CODES);
    return new MongoServerError({ message: `code ${code}`, code } satisfies Document);
  }
}

/** A transaction is one write. */
async function withSession(work: (session: SessionModel) => Promise<void>): Promise<void> {
  await work(new SessionModel());
}

function resetError(): MongoNetworkError {
  return new MongoNetworkError('connection reset');
}

/** What a client sees of a set of three members whose primary is `member`. */
function description(member: Member, types: readonly string[]): TopologyDescription {
  const servers = [0, 1, 2].map((index) => {
    const address = `member-${(member.term + index) % 3}`;
    const type = types[index] ?? 'Unknown';
    if (type === 'Unknown') return [address, { address, type, setName: null }] as const;
    return [address, { address, type, setName: 'rs', electionId: member.electionId }] as const;
  });
  return { servers: new Map<string, unknown>(servers) } as unknown as TopologyDescription;
}
