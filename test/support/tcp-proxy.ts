import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

type Pair = { readonly client: Socket; readonly server: Socket; doomed: boolean };

/**
 * A proxy on loopback between a MongoDB client and one server, which simulates network failures. Of MongoDB's protocol,
 * it only knows how a message names its command: as the first element, a string, of a BSON document.
 */
export class TcpProxy {
  readonly #host: string;
  readonly #port: number;
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));
  readonly #pairs = new Set<Pair>();
  #stalled = false;
  #toLose: { readonly mark: Buffer; times: number } | undefined;
  #toHold: { readonly mark: Buffer; readonly caught: (release: () => void) => void } | undefined;

  constructor(target: { readonly host: string; readonly port: number }) {
    this.#host = target.host;
    this.#port = target.port;
  }

  async listen(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts the connection instead of forwarding the next replies to this command. The server has executed it. */
  loseReplies(command: string, times: number): void {
    this.#toLose = { mark: markOf(command), times };
  }

  /** How many replies the proxy has yet to lose. */
  get repliesToLose(): number {
    return this.#toLose?.times ?? 0;
  }

  /** Resolves when the next such command arrives. The returned function forwards it to the server. */
  hold(command: string): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    this.#toHold = { mark: markOf(command), caught: resolve };
    return promise;
  }

  /** Stops forwarding, but keeps and accepts connections, like a frozen server. */
  stall(): void {
    this.#stalled = true;
    for (const { client, server } of this.#pairs) {
      client.pause();
      server.pause();
    }
  }

  resume(): void {
    this.#stalled = false;
    for (const { client, server } of this.#pairs) {
      client.resume();
      server.resume();
    }
  }

  /** Cuts every connection and refuses new ones. Idempotent. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const pair of this.#pairs) this.#cut(pair);
    await closed;
  }

  #accept(client: Socket): void {
    const server = createConnection({ host: this.#host, port: this.#port, noDelay: true });
    const pair: Pair = { client, server, doomed: false };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      // After an error, 'close' follows.
      socket.on('error', () => {}).on('close', () => this.#cut(pair));
      if (this.#stalled) socket.pause();
    }
    client.on('data', (chunk) => this.#toServer(pair, Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)));
    server.on('data', (chunk) => {
      if (pair.doomed) this.#cut(pair);
      else client.write(chunk);
    });
  }

  #toServer(pair: Pair, chunk: Buffer): void {
    const hold = this.#toHold;
    if (hold !== undefined && chunk.includes(hold.mark)) {
      this.#toHold = undefined;
      hold.caught(() => this.#toServer(pair, chunk));
      return;
    }
    const lose = this.#toLose;
    if (lose !== undefined && lose.times > 0 && chunk.includes(lose.mark)) {
      lose.times--;
      pair.doomed = true;
    }
    pair.server.write(chunk);
  }

  #cut(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}

function markOf(command: string): Buffer {
  return Buffer.from(`\x02${command}\0`, 'latin1');
}
