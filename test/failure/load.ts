import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Question } from './ask.ts';
import type { Attempt, Create, Get, History, Outcome } from './history.ts';
import { AUTHORIZATION } from './service-process.ts';
import { until } from './until.ts';

export type LoadOptions = {
  readonly clients: number;
  /** The pause between two requests of a client. */
  readonly pauseMs: number;
  /** How long a client tries to add the same pet. 0 means one attempt. */
  readonly patienceMs: number;
  /** The largest number of pets to add. */
  readonly maxCreates: number;
};

const DEFAULTS: LoadOptions = { clients: 12, pauseMs: 20, patienceMs: 40_000, maxCreates: 20_000 };

/** The pause before a retry. Shorter than `Retry-After`, to keep the service under load. */
const RETRY_PAUSE_MS = 100;

const HEADERS = { ...AUTHORIZATION, 'content-type': 'application/json' };
const WRONG_BODY = '{"name":"","categoryId":"seven"}';
const FLAVOURS = ['Rex', 'Mitzi 🐈', 'Ωmega "the" \\ dog', 'naïve e\u0301', '日本犬'];
const CATEGORIES = ['7', '-9223372036854775808', '9223372036854775807', '0', '9007199254740993'];

/** Clients that start at once and record every answer. A client whose request fails turns to the next URL. */
export class Load {
  readonly history: History;
  readonly #urls: readonly string[];
  readonly #options: LoadOptions;
  readonly #done: Promise<unknown>;
  #stopping = false;
  #abandoned = false;

  constructor(urls: readonly string[], options: Partial<LoadOptions> = {}) {
    this.#urls = urls;
    this.#options = { ...DEFAULTS, ...options };
    const begun = performance.now();
    this.history = { begun, ended: begun, fault: undefined, creates: [], gets: [], wrong: [] };
    this.#done = Promise.all(
      Array.from({ length: this.#options.clients }, (_, index) => this.#client(index)),
    );
  }

  /** Records the start of the fault. */
  fault(): void {
    const now = performance.now();
    this.history.fault ??= { from: now, to: now };
  }

  /** Records the end of the fault, as far as it affects the service. */
  healed(): void {
    if (this.history.fault !== undefined) this.history.fault.to = performance.now();
  }

  get acknowledged(): number {
    return this.history.creates.filter(({ outcome }) => outcome === 'acknowledged').length;
  }

  /** Resolves when this many more pets are acknowledged. */
  async acknowledges(count: number): Promise<void> {
    const before = this.acknowledged;
    await until(`${count} more pets`, () => this.acknowledged >= before + count);
  }

  /** Resolves when a request was answered 503. */
  async meets503(): Promise<void> {
    const { creates } = this.history;
    await until('a 503', () => creates.some(({ attempts }) => attempts.some(({ status }) => status === 503)));
  }

  /** Adds no more pets. Resolves when the clients have finished or given up. */
  async stop(): Promise<void> {
    if (!this.#stopping) this.history.ended = performance.now();
    this.#stopping = true;
    await this.#done;
  }

  /** Ends the load of a failed scenario: no client retries. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    await this.stop();
  }

  async #client(index: number): Promise<void> {
    using agent = new ClosingAgent();
    const connection = { agent, next: index };
    for (let turn = index; !this.#stopping; turn++) {
      if (turn % 8 === 7) await this.#sendWrong(connection);
      else if (turn % 4 === 3) await this.#get(connection);
      else if (this.history.creates.length < this.#options.maxCreates) {
        // Some clients give up at once: the outcome of their requests stays unknown.
        await this.#create(connection, turn % 5 === 0 ? 0 : this.#options.patienceMs);
      }
      await sleep(this.#options.pauseMs);
    }
  }

  async #create(connection: Connection, patienceMs: number): Promise<void> {
    const key = randomUUID();
    const name = `${key} ${one(FLAVOURS)}`;
    const body = `{"name":${JSON.stringify(name)},"categoryId":${one(CATEGORIES)},"status":"${one(STATUSES)}"}`;
    const begun = performance.now();
    const create: Create = { key, name, body, begun, ended: begun, attempts: [], outcome: 'unknown' };
    this.history.creates.push(create);
    for (;;) {
      const { attempt, reply } = await this.#attempt(connection, '/v1/pets', {
        method: 'POST',
        headers: { 'idempotency-key': key },
        body,
      });
      create.attempts.push(attempt);
      create.ended = attempt.ended;
      create.outcome = outcomeOf(create.attempts);
      if (attempt.outcome === 'acknowledged') {
        create.answer = reply?.body ?? '';
        create.replayed = reply?.headers['idempotent-replayed'] === 'true';
        return;
      }
      // A retry cannot change an answer that blames the client.
      if (attempt.status !== undefined && attempt.status < 500) return;
      const mayBeElsewhere = attempt.failure === 'ECONNREFUSED' && create.attempts.length < this.#urls.length;
      if (!mayBeElsewhere && performance.now() - begun >= patienceMs) return;
      if (this.#abandoned) return;
      await this.#beforeRetry(connection);
    }
  }

  async #get(connection: Connection): Promise<void> {
    const create = one(this.history.creates.slice(-200).filter(({ outcome }) => outcome === 'acknowledged'));
    const id = /^\{"id":(\d+),/.exec(create?.answer ?? '')?.[1];
    if (create === undefined || id === undefined) return;
    const { attempt, reply } = await this.#attempt(connection, `/v1/pets/${id}`, {});
    let found: Get['found'] = 'no answer';
    if (reply?.status === 200) found = reply.body === create.answer ? 'as acknowledged' : 'different';
    if (reply?.status === 404) found = 'missing';
    this.history.gets.push({ ...attempt, found });
    if (reply === undefined) await this.#beforeRetry(connection);
  }

  async #sendWrong(connection: Connection): Promise<void> {
    const question = { method: 'POST', body: WRONG_BODY };
    const { attempt, reply } = await this.#attempt(connection, '/v1/pets', question);
    this.history.wrong.push(attempt);
    if (reply === undefined) await this.#beforeRetry(connection);
  }

  async #attempt(connection: Connection, path: string, question: Question) {
    const url = this.#urls[connection.next % this.#urls.length] ?? '';
    const headers = { ...HEADERS, ...question.headers };
    const begun = performance.now();
    try {
      const reply = await ask(url + path, { ...question, headers, agent: connection.agent });
      const { status } = reply;
      const retryAfter = reply.headers['retry-after'];
      const attempt: Attempt = {
        begun,
        ended: performance.now(),
        url,
        outcome: outcomeOfStatus(status),
        status,
        ...(retryAfter !== undefined && { retryAfter }),
      };
      return { attempt, reply };
    } catch (error) {
      const failure = failureOf(error);
      // A request without a connection never reached the service.
      const outcome = failure === 'ECONNREFUSED' ? 'refused' : 'unknown';
      const attempt: Attempt = { begun, ended: performance.now(), url, outcome, failure };
      return { attempt, reply: undefined };
    }
  }

  /** Turns to the next instance, or waits where there is one only. */
  async #beforeRetry(connection: Connection): Promise<void> {
    connection.next++;
    if (this.#urls.length === 1) await sleep(RETRY_PAUSE_MS);
  }
}

const STATUSES = ['available', 'pending', 'sold'];

type Connection = { readonly agent: Agent; next: number };

class ClosingAgent extends Agent implements Disposable {
  constructor() {
    super({ keepAlive: true, maxSockets: 1 });
  }

  [Symbol.dispose](): void {
    this.destroy();
  }
}

/** Any of the attempts may have stored the pet. */
function outcomeOf(attempts: readonly Attempt[]): Outcome {
  const outcomes = new Set(attempts.map(({ outcome }) => outcome));
  if (outcomes.has('acknowledged')) return 'acknowledged';
  return outcomes.has('unknown') ? 'unknown' : 'refused';
}

/** A 5xx does not say what was done before it. */
function outcomeOfStatus(status: number): Outcome {
  if (status >= 500) return 'unknown';
  return status < 300 ? 'acknowledged' : 'refused';
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}

function one<T>(values: readonly T[]): T | undefined {
  return values[Math.floor(Math.random() * values.length)];
}
