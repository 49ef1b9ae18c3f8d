import { EventEmitter } from 'node:events';
import {
  type Db,
  type Document,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  type TopologyDescription,
} from 'mongodb';
import { IDEMPOTENCY_INDEX } from '../../src/adapters/mongodb/schema/collection-plans.ts';
import { MongoCollectionModel } from './mongo-collection-model.ts';
import { MAX_UNNOTICED_MS, type Member, type ReplicaSet } from './replica-set.ts';
import type { Simulation } from './simulation.ts';

/** As `socketTimeoutMS` is set. */
const SOCKET_TIMEOUT_MS = 8_000;

/** How the server answers commands while it stops, starts or steps down. */
const OUTAGE_CODES = [91, 189, 11600, 11602, 10107, 13435, 13436] as const;

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

/** Where a command is lost. */
type Fault = 'none' | 'refused' | 'request lost' | 'reply lost' | 'reply broken';

/**
 * The driver of one process, as far as the adapter sees it: it sends each command to the primary that it knows, and
 * learns of another one after a while. A command may be refused before its effect, its request or its reply may be lost,
 * and each way may take long. A lost one settles with an error at the socket timeout, or never.
 *
 * Flaw: `never-notices` (the first client keeps asking a deposed primary, which never steps down).
 */
export class MongoClientModel {
  readonly set: ReplicaSet;
  readonly simulation: Simulation;
  /** Commands on the collection of pets that were lost without an error, at least for a while. */
  lostOnPets = 0;
  /** The same on the other collections. */
  lostElsewhere = 0;
  /** When the primary was last confirmed. The lookups that waited for it begin together. */
  confirmedAtMs = -Infinity;
  /** How often an election has left this client with a deposed primary. */
  elections = 0;
  /** It sees no majority of the members, and the program has been told. */
  #isInMinority = false;
  #member: Member;
  readonly #events = new EventEmitter();

  constructor(set: ReplicaSet) {
    this.set = set;
    this.simulation = set.simulation;
    this.#member = set.primary;
    set.clients.push(this);
  }

  /** The part of a `Db` that the adapter uses. */
  get db(): Db {
    const collection = (name: string) => new MongoCollectionModel(this, name);
    const command = (document: Document) => this.#listIndexes(document);
    return { client: this.#events, collection, command, databaseName: 'petstore' } as unknown as Db;
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
    if (random.chance(0.3)) {
      this.simulation.later('a client sees a minority', noticesAfterMs, () => this.#seeMinority());
      this.simulation.later('a client is back', noticesAfterMs + random.between(0, 8_000), () =>
        this.#discover(member),
      );
    } else this.simulation.later('a client sees the primary', noticesAfterMs, () => this.#discover(member));
  }

  #seeMinority(): void {
    if (this.#member === this.set.primary) return;
    this.#isInMinority = true;
    const before = description(this.#member, 3);
    this.#events.emit('topologyDescriptionChanged', {
      previousDescription: before,
      newDescription: description(this.#member, 1),
    });
  }

  #discover(member: Member): void {
    if (this.#member.term >= member.term) return;
    this.#events.emit('topologyDescriptionChanged', {
      previousDescription: description(this.#member, this.#isInMinority ? 1 : 3),
      newDescription: description(member, 3),
    });
    this.#isInMinority = false;
    this.#member = member;
  }

  /** The collection of pets has the index that its idempotency keys need. */
  #listIndexes({ listIndexes }: Document): Promise<Document> {
    if (listIndexes !== 'pets') throw new Error('the model knows only the command listIndexes of pets');
    const { name, key, options } = IDEMPOTENCY_INDEX;
    return this.send({
      name: 'pets.listIndexes',
      isWrite: false,
      execute: () => ({ cursor: { firstBatch: [{ v: 2, name, key, ...options }] } }),
      notDurable: resetError,
      lost: (error) => error,
    });
  }

  send<T>(command: Command<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const member = this.#member;
    const fault = this.#fault();
    this.simulation.later(`${command.name} arrives`, this.simulation.latencyMs(), () => {
      if (member.isDead) reject(command.lost(resetError()));
      else if (fault === 'request lost') this.#lose(command, reject);
      else if (fault === 'refused' || (command.isWrite && member.hasSteppedDown)) reject(this.#refusal());
      else this.#execute(command, member, fault, { resolve, reject });
    });
    return promise;
  }

  #execute<T>(
    command: Command<T>,
    member: Member,
    fault: Fault,
    { resolve, reject }: Pick<PromiseWithResolvers<T>, 'resolve' | 'reject'>,
  ): void {
    const { simulation, set } = this;
    const { random } = simulation;
    let settle: () => void;
    try {
      const result = command.execute(member);
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
      const isDurable = set.commit(member, length) || set.flaw === 'acknowledges-early';
      if (!isDurable) settle = () => reject(random.chance(0.5) ? command.notDurable() : this.#refusal());
      if (random.chance(0.5)) reply();
      else simulation.later(`${command.name} is answered`, simulation.latencyMs(), reply);
    };
    if (command.isWrite)
      simulation.later(`${command.name} is replicated`, simulation.latencyMs(), onMajority);
    else simulation.later(`${command.name} is answered`, simulation.latencyMs(), reply);
  }

  #fault(): Fault {
    const { random, weather } = this.simulation;
    if (!random.chance(weather.faults)) return 'none';
    return random.pick(['refused', 'request lost', 'reply lost', 'reply broken']);
  }

  #lose(command: Command<unknown>, reject: (error: Error) => void): void {
    const { random } = this.simulation;
    if (command.name.startsWith('pets.')) this.lostOnPets++;
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

function resetError(): MongoNetworkError {
  return new MongoNetworkError('connection reset');
}

/** What a client sees of a set of three members whose primary is `member`. */
function description(member: Member, visible: number): TopologyDescription {
  const servers = [0, 1, 2].map((index) => {
    const address = `member-${(member.term + index) % 3}`;
    if (index >= visible) return [address, { address, type: 'Unknown', setName: null }] as const;
    const type = index === 0 ? 'RSPrimary' : 'RSSecondary';
    const electionId = { toHexString: () => `term ${member.term}` };
    return [address, { address, type, setName: 'rs', electionId }] as const;
  });
  return { servers: new Map<string, unknown>(servers) } as unknown as TopologyDescription;
}
