import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type StoredApiKey } from './client.ts';
import type { History, Request } from './history.ts';
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { until } from './until.ts';

export type LoadOptions = {
  readonly clients: number;
  /** The pause between two requests of a client. */
  readonly pauseMs: number;
  /** How long a client tries to add the same pet. 0 means one attempt. */
  readonly patienceMs: number;
  /** The share of the requests before which a client turns to the next URL. */
  readonly urlChangeShare: number;
};

const DEFAULTS: LoadOptions = { clients: 12, pauseMs: 20, patienceMs: 40_000, urlChangeShare: 0 };

/** The largest number of requests to add a pet, retries included. */
const MAX_CREATES = 50_000;

/** Clients that start at once and record every answer. */
export class Load {
  readonly history: History;
  /** API keys that the clients use besides the one in `API_KEYS`. */
  readonly apiKeys: StoredApiKey[] = [];
  readonly #options: LoadOptions;
  readonly #allClients: Promise<unknown>;
  /** What was acknowledged, in order. */
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

  /** Records the start of the fault. */
  beginFault(): void {
    const now = performance.now();
    this.history.fault ??= { from: now, to: now };
  }

  /** Records the end of the fault, as far as it affects the service. */
  endFault(): void {
    if (this.history.fault !== undefined) this.history.fault.to = performance.now();
  }

  /** How many pets were acknowledged. */
  get acknowledgedCount(): number {
    return this.#acknowledgedIds.length;
  }

  /** Resolves when this many more pets are acknowledged. */
  async waitForAcknowledgements(count: number): Promise<void> {
    const before = this.acknowledgedCount;
    await until(`${count} more pets`, () => this.acknowledgedCount >= before + count);
  }

  /** Resolves when a request was answered 503. */
  async waitFor503(): Promise<void> {
    await until('a 503', () => this.#count503 > 0);
  }

  /** Sends no more requests. Resolves when the clients have finished or given up. */
  async stop(): Promise<void> {
    if (!this.#isStopping) this.history.endMs = performance.now();
    this.#isStopping = true;
    await this.#allClients;
  }

  /** Ends the load of a failed scenario: no client retries. */
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
