import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type StoredApiKey } from './client.ts';
import type { History, Request } from './history.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { until } from './until.ts';

export type LoadOptions = {
  readonly clients: number;
  /** The pause between two requests of a client. */
  readonly pauseMs: number;
  /** How long a client tries to add the same pet. With 0, it makes one attempt. */
  readonly patienceMs: number;
  /** The probability that a client changes to the next URL before a request. */
  readonly urlChangeShare: number;
};

const DEFAULTS: LoadOptions = { clients: 12, pauseMs: 20, patienceMs: 40_000, urlChangeShare: 0 };

/** A load adds no more pets after this number of requests to add a pet, retries included. */
const MAX_CREATES = 50_000;

/** Clients that send requests and record every answer. The constructor starts the clients. */
export class Load {
  readonly history: History;
  /** API keys that the clients use in addition to the key in `API_KEYS`. */
  readonly apiKeys: StoredApiKey[] = [];
  readonly #options: LoadOptions;
  readonly #allClients: Promise<unknown>;
  /** The ids of the acknowledged pets, in the order of the acknowledgements. */
  readonly #acknowledgedIds: number[] = [];
  #createCount = 0;
  #count503 = 0;
  #isStopping = false;
  #isAbandoned = false;

  /** @param seed decides what the clients send, but not when */
  constructor(urls: readonly string[], seed: number, options: Partial<LoadOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
    const beginMs = performance.now();
    this.history = { beginMs, endMs: beginMs, fault: undefined, calls: [] };
    const { clients, patienceMs, urlChangeShare } = this.#options;
    const shared = {
      urls,
      patienceMs,
      urlChangeShare,
      apiKeys: this.apiKeys,
      acknowledgedIds: this.#acknowledgedIds,
      mayCreate: () => this.#createCount < MAX_CREATES,
      isAbandoned: () => this.#isAbandoned,
      record: (request: Request) => this.#record(request),
    };
    const runs = Array.from({ length: clients }, (_, index) => {
      return this.#run(new Client(shared, new SeededRandom(seed + index), index));
    });
    this.#allClients = Promise.all(runs);
  }

  /** Records that the fault begins now. Later calls do not change this time. */
  beginFault(): void {
    const now = performance.now();
    this.history.fault ??= { from: now, to: now };
  }

  /** Records that the fault affects the service only until now. A later call replaces this time. */
  endFault(): void {
    if (this.history.fault !== undefined) this.history.fault.to = performance.now();
  }

  /** The number of acknowledged pets. */
  get acknowledgedCount(): number {
    return this.#acknowledgedIds.length;
  }

  /** Resolves when `count` pets were acknowledged after this call. */
  async waitForAcknowledgements(count: number): Promise<void> {
    const countBefore = this.acknowledgedCount;
    await until(`${count} acknowledged pets`, () => this.acknowledgedCount >= countBefore + count);
  }

  /** Resolves when the service has answered a request to add a pet with 503. */
  async waitFor503(): Promise<void> {
    await until('a first answer of 503', () => this.#count503 > 0);
  }

  /** Tells the clients to stop. Resolves when each client has finished its request and its retries. */
  async stop(): Promise<void> {
    if (!this.#isStopping) this.history.endMs = performance.now();
    this.#isStopping = true;
    await this.#allClients;
  }

  /** Stops the clients as {@link stop} does, but without retries, because the scenario has failed. */
  async abandon(): Promise<void> {
    this.#isAbandoned = true;
    await this.stop();
  }

  async #run(client: Client): Promise<void> {
    using _ = client;
    while (!this.#isStopping) {
      await client.sendRandomRequest();
      await sleep(this.#options.pauseMs);
    }
  }

  #record(request: Request): void {
    this.history.calls.push(request);
    if (request.type !== 'create') return;
    this.#createCount++;
    if (request.status === 503) this.#count503++;
    const id = /^\{"id":(\d+),/.exec(request.answer ?? '')?.[1];
    if (id !== undefined) this.#acknowledgedIds.push(Number(id));
  }
}
