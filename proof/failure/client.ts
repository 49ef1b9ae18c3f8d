import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Question, type Reply } from './ask.ts';
import type { Outcome, Page, Request, Sent } from './history.ts';
import { listPage } from './list-page.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import { API_KEY } from './service-process.ts';

/** The pause before a retry. Shorter than `Retry-After`, to keep the service under load. */
const RETRY_PAUSE_MS = 100;

const WRONG_BODY = '{"name":"","categoryId":"seven"}';
const FLAVOURS = ['Rex', 'Mitzi 🐈', 'Ωmega "the" \\ dog', 'naïve e\u0301', '日本犬'] as const;
const CATEGORIES = ['7', '-9223372036854775808', '9223372036854775807', '0', '9007199254740993'] as const;
const STATUSES = ['available', 'pending', 'sold'] as const;
const PAGE_SIZES = [100, 100, 20, 3] as const;

/** Shares of the requests. The rest adds pets. */
const WRONG = 0.08;
const GETS = 0.16;
const PAGES = 0.16;

/** An API key from the storage, in use. */
export type UsedKey = { readonly id: string; readonly token: string };

/** What the clients of a load share. */
export type Shared = {
  readonly urls: readonly string[];
  /** How long a client tries to add the same pet. 0 means one attempt. */
  readonly patienceMs: number;
  /** The share of the requests before which a client turns to the next URL. */
  readonly wandering: number;
  /** Keys to use besides {@link API_KEY}, revoked ones included. */
  readonly keys: readonly UsedKey[];
  /** The ids that were acknowledged, in order. */
  readonly ids: readonly number[];
  readonly mayCreate: () => boolean;
  readonly isAbandoned: () => boolean;
  readonly record: (request: Request) => void;
};

/** Sends one request at a time and records every answer. After a failure it turns to the next URL. */
export class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #shared: Shared;
  readonly #random: SeededRandom;
  #turn: number;
  #position: { readonly path: string } & Pick<Page, 'after' | 'limit' | 'filter'>;

  /** @param index of this client. It decides where the client begins. */
  constructor(shared: Shared, random: SeededRandom, index: number) {
    this.#shared = shared;
    this.#random = random;
    this.#turn = index;
    this.#position = this.#start();
  }

  /** Sends a random request, and its retries. */
  async act(): Promise<void> {
    if (this.#random.chance(this.#shared.wandering)) this.#turn++;
    const kind = this.#random.next();
    if (kind < WRONG) await this.#sendWrong();
    else if (kind < WRONG + GETS) await this.#get();
    else if (kind < WRONG + GETS + PAGES) await this.#readPage();
    else if (this.#shared.mayCreate()) await this.#create();
  }

  /** Adds a pet. A request without an Idempotency-Key is sent once, and so is one of an impatient client. */
  async #create(): Promise<void> {
    const random = this.#random;
    const key = random.chance(0.7) ? randomUUID() : undefined;
    const patienceMs = key === undefined || random.chance(0.2) ? 0 : this.#shared.patienceMs;
    const name = JSON.stringify(`${key ?? randomUUID()} ${random.pick(FLAVOURS)}`);
    const category = random.pick(CATEGORIES);
    const status = random.chance(0.2) ? undefined : random.pick(STATUSES);
    const fields = `"name":${name},"categoryId":${category}`;
    const content = `${fields},"status":"${status ?? 'available'}"}`;
    const body = status === undefined ? `{${fields}}` : `{${content}`;
    const used = this.#chooseKey();
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const beginMs = performance.now();
    for (let attempts = 1; ; attempts++) {
      const { sent, reply } = await this.#send('/v1/pets', { method: 'POST', headers, body }, used);
      this.#shared.record({
        type: 'create',
        ...sent,
        content,
        body,
        ...(key !== undefined && { key }),
        ...(reply?.status === 201 && {
          answer: reply.body,
          replayed: reply.headers['idempotent-replayed'] === 'true',
        }),
      });
      // A retry cannot change an answer that blames the client.
      if (sent.status !== undefined && sent.status < 500) return;
      const mayBeElsewhere = sent.failure === 'ECONNREFUSED' && attempts < this.#shared.urls.length;
      if (!mayBeElsewhere && performance.now() - beginMs >= patienceMs) return;
      if (this.#shared.isAbandoned()) return;
      await this.#beforeRetry();
    }
  }

  /** Reads a pet: mostly a recent one, sometimes one that may come soon. */
  async #get(): Promise<void> {
    const { ids, record } = this.#shared;
    if (ids.length === 0) return;
    const choice = this.#random.next();
    let id = this.#random.pick(choice < 0.6 ? ids.slice(-5) : ids);
    if (choice > 0.9) id = ids.at(-1)! + 1 + this.#random.below(5);
    const { sent, reply } = await this.#send(`/v1/pets/${id}`, {}, this.#chooseKey());
    record({ type: 'get', ...sent, id, ...(reply?.status === 200 && { answer: reply.body }) });
    if (reply === undefined) await this.#beforeRetry();
  }

  /** Reads the next page of this client's walk. The last page is often read again, because it grows. */
  async #readPage(): Promise<void> {
    const { path, after, limit, filter } = this.#position;
    const { sent, reply } = await this.#send(path, {}, this.#chooseKey());
    const request = {
      type: 'page',
      ...sent,
      after,
      limit,
      ...(filter !== undefined && { filter }),
    } as const;
    if (reply?.status !== 200) {
      this.#shared.record(request);
      if (reply === undefined) await this.#beforeRetry();
      return;
    }
    const { pets, next } = listPage(reply);
    this.#shared.record({ ...request, pets, more: next !== undefined });
    const last = /^\{"id":(\d+),/.exec(pets.at(-1) ?? '')?.[1];
    if (next !== undefined && last !== undefined) {
      const { pathname, search } = new URL(next);
      this.#position = { ...this.#position, path: pathname + search, after: Number(last) };
    } else if (this.#random.chance(0.2)) this.#position = this.#start();
  }

  #start() {
    const limit = this.#random.pick(PAGE_SIZES);
    const filter = this.#random.chance(0.5) ? this.#random.pick(STATUSES) : undefined;
    const path = `/v1/pets?limit=${limit}${filter === undefined ? '' : `&status=${filter}`}`;
    return { path, after: 0, limit, ...(filter !== undefined && { filter }) };
  }

  async #sendWrong(): Promise<void> {
    const { sent, reply } = await this.#send('/v1/pets', { method: 'POST', body: WRONG_BODY }, undefined);
    this.#shared.record({ type: 'wrong', ...sent });
    if (reply === undefined) await this.#beforeRetry();
  }

  #chooseKey(): UsedKey | undefined {
    const { keys } = this.#shared;
    return keys.length > 0 && this.#random.chance(0.3) ? this.#random.pick(keys) : undefined;
  }

  #send(path: string, question: Question, key: UsedKey | undefined): ReturnType<typeof send> {
    const { urls } = this.#shared;
    const url = urls[this.#turn % urls.length] ?? '';
    return send(url, path, { ...question, agent: this.#agent }, key);
  }

  /** Turns to the next instance, or waits where there is one only. */
  async #beforeRetry(): Promise<void> {
    this.#turn++;
    if (this.#shared.urls.length === 1) await sleep(RETRY_PAUSE_MS);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Sends one request, and says what its client knows afterwards. */
export async function send(
  url: string,
  path: string,
  question: Question,
  key?: UsedKey,
): Promise<{ readonly sent: Sent; readonly reply: Reply | undefined }> {
  const headers = {
    authorization: `Bearer ${key?.token ?? API_KEY}`,
    ...(question.body !== undefined && { 'content-type': 'application/json' }),
    ...question.headers,
  };
  const beginMs = performance.now();
  const about = { url: url + path, ...(key !== undefined && { apiKey: key.id }), beginMs };
  try {
    const reply = await ask(url + path, { ...question, headers });
    const { status } = reply;
    const retryAfter = reply.headers['retry-after'];
    const told = { status, ...(retryAfter !== undefined && { retryAfter }) };
    const sent: Sent = { ...about, endMs: performance.now(), outcome: outcomeOf(status), ...told };
    return { sent, reply };
  } catch (error) {
    const failure = failureOf(error);
    // A request without a connection never reached the service.
    const outcome = failure === 'ECONNREFUSED' ? 'refused' : 'unknown';
    return { sent: { ...about, endMs: performance.now(), outcome, failure }, reply: undefined };
  }
}

/** A 5xx does not say what was done before it. */
function outcomeOf(status: number): Outcome {
  if (status >= 500) return 'unknown';
  return status < 300 ? 'acknowledged' : 'refused';
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
