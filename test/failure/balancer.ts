import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { until } from './until.ts';

/** The pause between two probes, and how many failed ones in a row take an instance out. A good one brings it back. */
const PROBE = { pauseMs: 100, timeoutMs: 1_000, failures: 2 } as const;

/** They belong to one connection: RFC 9110, section 7.6.1. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding'];

/** What is given to instances in turn: requests, or whole connections with all of their requests. */
export type Unit = 'requests' | 'connections';

type Instance = { readonly url: string; readonly agent: Agent; failedProbes: number };

/**
 * A proxy on loopback in front of several instances. It retries nothing, and it knows no more about an instance than what
 * `/readyz` says. Of requests, every other one goes over a connection that it keeps open, the others over new ones.
 */
export class Balancer implements AsyncDisposable {
  /** Why requests or connections did not get through. */
  readonly failures: string[] = [];
  readonly #instances: readonly Instance[];
  readonly #server: Server;
  readonly #clients = new Set<Socket>();
  readonly #stopping = new AbortController();
  #forwarded = 0;

  private constructor(urls: readonly string[], unit: Unit) {
    this.#server =
      unit === 'requests'
        ? createServer((incoming, outgoing) => this.#forward(incoming, outgoing))
        : createTcpServer({ allowHalfOpen: true }, (client) => this.#join(client));
    this.#server.on('connection', (client: Socket) => {
      this.#clients.add(client);
      client.on('close', () => this.#clients.delete(client));
    });

    this.#instances = urls.map((url) => ({
      url,
      agent: new Agent({ keepAlive: true }),
      failedProbes: PROBE.failures,
    }));
    for (const instance of this.#instances) void this.#probe(instance);
  }

  /** Resolves when every instance gets requests. */
  static async start(urls: readonly string[], unit: Unit): Promise<Balancer> {
    const balancer = new Balancer(urls, unit);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    for (const url of urls) await balancer.includes(url);
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many requests or connections it has forwarded. */
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
    while (!this.#stopping.signal.aborted) {
      const answer = await ask(`${instance.url}/readyz`, { timeoutMs: PROBE.timeoutMs }).catch(
        () => undefined,
      );
      instance.failedProbes = answer?.status === 200 ? 0 : instance.failedProbes + 1;
      await sleep(PROBE.pauseMs);
    }
  }

  #join(client: Socket): void {
    const instance = this.#ready[this.#forwarded++ % this.#ready.length];
    if (instance === undefined) {
      this.failures.push('no instance is ready');
      client.destroy();
      return;
    }
    const { hostname, port } = new URL(instance.url);
    const server = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    // The client sees a broken connection break.
    server.on('error', (error) => {
      this.failures.push(`${instance.url}: ${error.message}`);
      client.resetAndDestroy();
    });
    client.on('error', () => server.destroy());
    client.pipe(server).pipe(client);
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
    this.#stopping.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const client of this.#clients) client.destroy();
    for (const { agent } of this.#instances) agent.destroy();
    await closed;
  }
}

function endToEnd<T extends object>(headers: T): T {
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.includes(name));
  return Object.fromEntries(kept) as T;
}
