import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ask } from './ask.ts';
import { until } from './until.ts';

/** How often an instance is probed, and how many failed probes in a row take it out. One good probe brings it back. */
export const PROBE = { everyMs: 100, failures: 3, timeoutMs: 1_000 } as const;

/** They belong to one connection: RFC 9110, section 7.6.1. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding'];

type Instance = { readonly url: string; readonly agent: Agent; failedProbes: number };

/**
 * A reverse proxy on loopback that gives requests to instances in turn. It retries nothing, and it knows no more about an
 * instance than what `/readyz` says. Every other request goes over a connection that it keeps open, the others over new
 * ones.
 */
export class Balancer implements AsyncDisposable {
  /** The requests that got no answer from an instance, each with the reason. */
  readonly failures: string[] = [];
  readonly #instances: readonly Instance[];
  readonly #server = createServer((incoming, outgoing) => this.#forward(incoming, outgoing));
  readonly #probing: NodeJS.Timeout;
  #forwarded = 0;

  private constructor(urls: readonly string[]) {
    this.#instances = urls.map((url) => ({
      url,
      agent: new Agent({ keepAlive: true }),
      failedProbes: PROBE.failures,
    }));
    this.#probing = setInterval(() => {
      for (const instance of this.#instances) void this.#probe(instance);
    }, PROBE.everyMs);
  }

  /** Resolves when every instance gets requests. */
  static async start(urls: readonly string[]): Promise<Balancer> {
    const balancer = new Balancer(urls);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    for (const url of urls) await balancer.includes(url);
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get forwarded(): number {
    return this.#forwarded;
  }

  /** Waits until the instance gets requests. */
  async includes(url: string): Promise<void> {
    await until(`${url} gets requests`, () => this.#ready.some((instance) => instance.url === url));
  }

  get #ready(): readonly Instance[] {
    return this.#instances.filter(({ failedProbes }) => failedProbes < PROBE.failures);
  }

  async #probe(instance: Instance): Promise<void> {
    const answer = await ask(`${instance.url}/readyz`, { timeoutMs: PROBE.timeoutMs }).catch(() => undefined);
    instance.failedProbes = answer?.status === 200 ? 0 : instance.failedProbes + 1;
  }

  #forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const ready = this.#ready;
    const turn = this.#forwarded++;
    const instance = ready[turn % ready.length];
    const fail = (why: string) => {
      this.failures.push(why);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    };
    if (instance === undefined) return fail('no instance is ready');
    const passedOn = request(instance.url + (incoming.url ?? ''), {
      method: incoming.method,
      headers: endToEnd(incoming.headers),
      // For each instance, every other request.
      agent: Math.floor(turn / ready.length) % 2 === 0 ? instance.agent : false,
    });
    passedOn.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 0, endToEnd(response.headers));
      response.on('error', (error) => fail(`half an answer of ${instance.url}: ${error.message}`));
      response.pipe(outgoing);
    });
    passedOn.on('error', (error) => fail(`${instance.url}: ${error.message}`));
    incoming.pipe(passedOn);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#probing);
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    for (const { agent } of this.#instances) agent.destroy();
    await closed;
  }
}

function endToEnd<T extends object>(headers: T): T {
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name));
  return Object.fromEntries(kept) as T;
}
