import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type RequestOptions } from '../failure/ask.ts';

/** The number of requests after which a client opens a new connection. */
const REQUESTS_PER_CONNECTION = 40;

/**
 * The pause of a client between two requests, in milliseconds. Without the pause, the clients would overload the
 * machine.
 */
const PAUSE_MS = 8;

const PET = '{"name":"Rex","categoryId":9223372036854775807,"status":"pending"}';
const WRONG_PET = '{"name":"","categoryId":"seven"}';

type Kind = { readonly path: string; readonly status: number; readonly question?: RequestOptions };

/** The requests that each client sends in this order, again and again, with the expected status of the answer. */
const KINDS: readonly Kind[] = [
  { path: '/v1/pets', status: 200 },
  { path: '/v1/pets?status=pending&limit=50', status: 200 },
  { path: '/v1/pets/1', status: 200 },
  { path: '/v1/pets', status: 201, question: { method: 'POST', body: PET } },
  { path: '/v1/pets?limit=5&status=sold', status: 200 },
  { path: '/v1/pets', status: 400, question: { method: 'POST', body: WRONG_PET } },
  { path: '/v1/pets/1', status: 200 },
  { path: '/v1/pets?limit=0', status: 400 },
  {
    path: '/v1/pets',
    status: 201,
    question: { method: 'POST', body: PET, headers: { 'idempotency-key': '' } },
  },
  { path: '/v1/pets', status: 200 },
  { path: '/v1/pets', status: 401, question: { headers: { authorization: 'Bearer wrong' } } },
  { path: '/readyz', status: 200 },
];

/** Clients that send all kinds of requests until `stop` is called, and check the status of each answer. */
export class MixedLoad {
  /** The latencies since the last call of {@link takeLatencies}. */
  #latenciesMs: number[] = [];
  /** One line per wrong or missing answer. */
  readonly wrong: string[] = [];
  pets = 0;
  requests = 0;
  readonly #url: string;
  readonly #tokens: () => readonly string[];
  readonly #done: Promise<unknown>;
  #isStopping = false;

  /** @param tokens the API keys that are valid now */
  constructor(url: string, clients: number, tokens: () => readonly string[]) {
    this.#url = url;
    this.#tokens = tokens;
    this.#done = Promise.all(Array.from({ length: clients }, (_, index) => this.#client(index)));
  }

  /** Returns the latencies since the last call, in milliseconds, in ascending order. */
  takeLatencies(): readonly number[] {
    const taken = this.#latenciesMs.toSorted((a, b) => a - b);
    this.#latenciesMs = [];
    return taken;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#done;
  }

  async #client(index: number): Promise<void> {
    for (let turn = index; !this.#isStopping; turn++) {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let i = 0; i < REQUESTS_PER_CONNECTION && !this.#isStopping; i++) {
        await this.#send(turn * REQUESTS_PER_CONNECTION + i, agent);
        await sleep(PAUSE_MS);
      }
      agent.destroy();
    }
  }

  async #send(number: number, agent: Agent): Promise<void> {
    const { path, status, question = {} } = KINDS[number % KINDS.length]!;
    const tokens = this.#tokens();
    const token = tokens[number % tokens.length] ?? '';
    const headers: Record<string, string> = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      ...question.headers,
    };
    // Two successive requests may have the same key. The second one is then answered with the pet of the first.
    if ('idempotency-key' in headers) headers['idempotency-key'] = `soak-${this.requests >> 1}`;
    const begun = performance.now();
    try {
      const reply = await ask(this.#url + path, { ...question, headers, agent });
      this.#latenciesMs.push(performance.now() - begun);
      if (reply.status === 201 && reply.headers['idempotent-replayed'] === undefined) this.pets++;
      if (reply.status !== status) this.wrong.push(`${path}: ${reply.status} ${reply.body}`);
    } catch (error) {
      this.wrong.push(`${path}: ${String(error)}`);
    }
    this.requests++;
  }
}
