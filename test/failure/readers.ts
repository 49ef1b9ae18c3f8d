import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type Reply } from './ask.ts';
import { acknowledgedBefore, idOf, missingFrom } from './freshness.ts';
import type { Create } from './history.ts';
import { listPage } from './list-page.ts';
import { AUTHORIZATION } from './service-process.ts';

/** Clients read one of this many pets that were acknowledged last. */
const RECENT = 5;

/** After this many turns a walk starts again at the first page. Otherwise it goes on where it ended. */
const WALKS_FROM_THE_START = 10;

/** Clients that read, and compare every answer with what was acknowledged before they asked. */
export class Readers {
  readonly stale: string[] = [];
  readonly statuses = new Map<number | string, number>();
  /** The reads of a pet and of a page that had a comparable answer. */
  readonly checked = { gets: 0, pages: 0 };
  slowestMs = 0;
  readonly #url: string;
  readonly #creates: readonly Create[];
  readonly #done: Promise<unknown>;
  #stopping = false;

  /** @param creates the pets that are being added */
  constructor(url: string, creates: readonly Create[], clients = 4) {
    this.#url = url;
    this.#creates = creates;
    this.#done = Promise.all(Array.from({ length: clients }, (_, index) => this.#client(index)));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#done;
  }

  async #client(index: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const status = index % 2 === 0 ? undefined : 'available';
    const start = { path: `/v1/pets?limit=100${status === undefined ? '' : `&status=${status}`}`, after: 0n };
    let position = start;
    for (let turn = 1; !this.#stopping; turn++) {
      await this.#get(agent, turn);
      const next = await this.#page(agent, position, status);
      // The last page is read again, because it grows.
      if (next !== undefined) position = next;
      else if (turn % WALKS_FROM_THE_START === 0) position = start;
      await sleep(1);
    }
    agent.destroy();
  }

  async #get(agent: Agent, turn: number): Promise<void> {
    const begun = performance.now();
    const answer = acknowledgedBefore(this.#creates, begun)
      .slice(-RECENT)
      .at(turn % RECENT);
    if (answer === undefined) return;
    const reply = await this.#ask(agent, `/v1/pets/${idOf(answer)}`);
    if (reply?.status !== 200 && reply?.status !== 404) return;
    this.checked.gets++;
    if (reply.body !== answer) this.stale.push(`${answer} was answered ${reply.status} ${reply.body}`);
  }

  async #page(
    agent: Agent,
    { path, after }: Position,
    status: string | undefined,
  ): Promise<Position | undefined> {
    const begun = performance.now();
    const reply = await this.#ask(agent, path);
    if (reply?.status !== 200) return undefined;
    this.checked.pages++;
    const { pets, next } = listPage(reply);
    const page = { begun, after, pets, more: next !== undefined, ...(status !== undefined && { status }) };
    for (const missing of missingFrom(page, this.#creates)) {
      this.stale.push(`${missing} was missing in ${path}, which had ${pets.length} pets`);
    }
    if (next === undefined) return undefined;
    return { path: next.slice(this.#url.length), after: idOf(pets.at(-1) ?? '') };
  }

  async #ask(agent: Agent, path: string): Promise<Reply | undefined> {
    const begun = performance.now();
    try {
      const reply = await ask(this.#url + path, { headers: AUTHORIZATION, agent });
      this.#count(reply.status);
      return reply;
    } catch (error) {
      this.#count(String(error));
      return undefined;
    } finally {
      this.slowestMs = Math.max(this.slowestMs, performance.now() - begun);
    }
  }

  #count(status: number | string): void {
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
  }
}

type Position = { readonly path: string; readonly after: bigint };
