import { randomUUID } from 'node:crypto';
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type RequestOptions, type Reply } from './ask.ts';
import type { Outcome, Page, Request, SentRequest } from './history.ts';
import { listPage } from './list-page.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import { API_KEY } from './service-process.ts';

/** The pause before a retry. `Retry-After` asks for a longer pause, but the service shall stay under load. */
const RETRY_PAUSE_MS = 100;

const WRONG_BODY = '{"name":"","categoryId":"seven"}';
const NAME_ENDINGS = ['Rex', 'Mitzi 🐈', 'Ωmega "the" \\ dog', 'naïve e\u0301', '日本犬'] as const;
const CATEGORIES = ['7', '-9223372036854775808', '9223372036854775807', '0', '9007199254740993'] as const;
const STATUSES = ['available', 'pending', 'sold'] as const;
const PAGE_SIZES = [100, 100, 20, 3] as const;

/** 8 % of the requests are wrong, 16 % read one pet, and 16 % read a page. The remaining 60 % add pets. */
const WRONG_SHARE = 0.08;
const GET_SHARE = 0.16;
const PAGE_SHARE = 0.16;

/** An API key that is stored in the database. */
export type StoredApiKey = { readonly id: string; readonly token: string };

/** The settings and the state that all clients of a load share. */
export type SharedState = {
  readonly urls: readonly string[];
  /** How long a client repeats the request for one pet. With 0, the client makes one attempt. */
  readonly patienceMs: number;
  /** The probability that a client changes to the next URL before a request. */
  readonly urlChangeShare: number;
  /** Clients use these keys in addition to {@link API_KEY}. Some of them are revoked. */
  readonly apiKeys: readonly StoredApiKey[];
  /** The ids of the acknowledged pets, in the order of the acknowledgements. */
  readonly acknowledgedIds: readonly number[];
  /** Whether clients may add more pets. The load limits their number. */
  readonly mayCreate: () => boolean;
  /** Whether the scenario has failed, so that clients make no more retries. */
  readonly isAbandoned: () => boolean;
  readonly record: (request: Request) => void;
};

/** Sends one request at a time and records every answer. After a failed request it changes to the next URL. */
export class Client implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #shared: SharedState;
  readonly #random: SeededRandom;
  #urlIndex: number;
  #nextPage: { readonly path: string } & Pick<Page, 'after' | 'limit' | 'filter'>;

  /** @param index the number of this client. It decides to which URL the client sends its first request. */
  constructor(shared: SharedState, random: SeededRandom, index: number) {
    this.#shared = shared;
    this.#random = random;
    this.#urlIndex = index;
    this.#nextPage = this.#chooseFirstPage();
  }

  /** Sends a random request, and its retries. */
  async sendRandomRequest(): Promise<void> {
    if (this.#random.chance(this.#shared.urlChangeShare)) this.#urlIndex++;
    const kind = this.#random.next();
    if (kind < WRONG_SHARE) await this.#sendWrong();
    else if (kind < WRONG_SHARE + GET_SHARE) await this.#get();
    else if (kind < WRONG_SHARE + GET_SHARE + PAGE_SHARE) await this.#readPage();
    else if (this.#shared.mayCreate()) await this.#create();
  }

  /**
   * Adds a pet. 80 % of the requests with an Idempotency-Key are repeated after an error, for at most `patienceMs`.
   * After a refused connection, every request is sent to the next URL, until each URL was tried once.
   */
  async #create(): Promise<void> {
    const random = this.#random;
    const idempotencyKey = random.chance(0.7) ? randomUUID() : undefined;
    const patienceMs = idempotencyKey === undefined || random.chance(0.2) ? 0 : this.#shared.patienceMs;
    const name = JSON.stringify(`${idempotencyKey ?? randomUUID()} ${random.pick(NAME_ENDINGS)}`);
    const category = random.pick(CATEGORIES);
    const status = random.chance(0.2) ? undefined : random.pick(STATUSES);
    const fields = `"name":${name},"categoryId":${category}`;
    const content = `${fields},"status":"${status ?? 'available'}"}`;
    const body = status === undefined ? `{${fields}}` : `{${content}`;
    const apiKey = this.#chooseKey();
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const beginMs = performance.now();
    for (let attempts = 1; ; attempts++) {
      const { sentRequest, reply } = await this.#send('/v1/pets', { method: 'POST', headers, body }, apiKey);
      this.#shared.record({
        type: 'create',
        ...sentRequest,
        content,
        body,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
        ...(reply?.status === 201 && {
          answer: reply.body,
          replayed: reply.headers['idempotent-replayed'] === 'true',
        }),
      });
      // The pet is acknowledged, or a 4xx says that the request is wrong, which a retry cannot change.
      if (sentRequest.status !== undefined && sentRequest.status < 500) return;
      const hasUntriedUrl = sentRequest.failure === 'ECONNREFUSED' && attempts < this.#shared.urls.length;
      if (!hasUntriedUrl && performance.now() - beginMs >= patienceMs) return;
      if (this.#shared.isAbandoned()) return;
      await this.#prepareRetry();
    }
  }

  /** Reads one pet: mostly one of the last five pets, sometimes any pet, or an id that may be assigned soon. */
  async #get(): Promise<void> {
    const { acknowledgedIds, record } = this.#shared;
    if (acknowledgedIds.length === 0) return;
    const choice = this.#random.next();
    let id = this.#random.pick(choice < 0.6 ? acknowledgedIds.slice(-5) : acknowledgedIds);
    if (choice > 0.9) id = acknowledgedIds.at(-1)! + 1 + this.#random.below(5);
    const { sentRequest, reply } = await this.#send(`/v1/pets/${id}`, {}, this.#chooseKey());
    record({ type: 'get', ...sentRequest, id, ...(reply?.status === 200 && { answer: reply.body }) });
    if (reply === undefined) await this.#prepareRetry();
  }

  /** Reads the next page of the list. Often reads the last page again, because new pets appear on it. */
  async #readPage(): Promise<void> {
    const { path, ...range } = this.#nextPage;
    const { sentRequest, reply } = await this.#send(path, {}, this.#chooseKey());
    const request = { type: 'page', ...sentRequest, ...range } as const;
    if (reply?.status !== 200) {
      this.#shared.record(request);
      if (reply === undefined) await this.#prepareRetry();
      return;
    }
    const { pets, next } = listPage(reply);
    this.#shared.record({ ...request, pets, hasNext: next !== undefined });
    const lastId = /^\{"id":(\d+),/.exec(pets.at(-1) ?? '')?.[1];
    if (next !== undefined && lastId !== undefined) {
      const { pathname, search } = new URL(next);
      this.#nextPage = { ...this.#nextPage, path: pathname + search, after: Number(lastId) };
    } else if (this.#random.chance(0.2)) this.#nextPage = this.#chooseFirstPage();
  }

  #chooseFirstPage() {
    const limit = this.#random.pick(PAGE_SIZES);
    const filter = this.#random.chance(0.5) ? this.#random.pick(STATUSES) : undefined;
    const path = `/v1/pets?limit=${limit}${filter === undefined ? '' : `&status=${filter}`}`;
    return { path, after: 0, limit, ...(filter !== undefined && { filter }) };
  }

  async #sendWrong(): Promise<void> {
    const { sentRequest, reply } = await this.#send('/v1/pets', { method: 'POST', body: WRONG_BODY });
    this.#shared.record({ type: 'wrong', ...sentRequest });
    if (reply === undefined) await this.#prepareRetry();
  }

  #chooseKey(): StoredApiKey | undefined {
    const { apiKeys } = this.#shared;
    return apiKeys.length > 0 && this.#random.chance(0.3) ? this.#random.pick(apiKeys) : undefined;
  }

  #send(path: string, options: RequestOptions, apiKey?: StoredApiKey): ReturnType<typeof send> {
    const { urls } = this.#shared;
    const url = urls[this.#urlIndex % urls.length] ?? '';
    return send(url, path, { ...options, agent: this.#agent }, apiKey);
  }

  /** Changes to the next URL. If there is only one URL, waits before the retry. */
  async #prepareRetry(): Promise<void> {
    this.#urlIndex++;
    if (this.#shared.urls.length === 1) await sleep(RETRY_PAUSE_MS);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Sends one request. Returns its record for the history and, if the service answered, the reply. */
export async function send(
  url: string,
  path: string,
  options: RequestOptions,
  apiKey?: StoredApiKey,
): Promise<{ readonly sentRequest: SentRequest; readonly reply: Reply | undefined }> {
  const headers = {
    authorization: `Bearer ${apiKey?.token ?? API_KEY}`,
    ...(options.body !== undefined && { 'content-type': 'application/json' }),
    ...options.headers,
  };
  const beginMs = performance.now();
  const request = { url: url + path, ...(apiKey !== undefined && { apiKey: apiKey.id }), beginMs };
  try {
    const reply = await ask(url + path, { ...options, headers });
    const { status } = reply;
    const retryAfter = reply.headers['retry-after'];
    const answerFields = { status, ...(retryAfter !== undefined && { retryAfter }) };
    const sentRequest = { ...request, endMs: performance.now(), outcome: outcomeOf(status), ...answerFields };
    return { sentRequest, reply };
  } catch (error) {
    const failure = failureOf(error);
    // With a refused connection, the request never reached the service.
    const outcome = failure === 'ECONNREFUSED' ? 'refused' : 'unknown';
    return { sentRequest: { ...request, endMs: performance.now(), outcome, failure }, reply: undefined };
  }
}

/** The outcome of a 5xx is unknown, because the service may have stored the pet before the error. */
function outcomeOf(status: number): Outcome {
  if (status >= 500) return 'unknown';
  return status < 300 ? 'acknowledged' : 'refused';
}

function failureOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
