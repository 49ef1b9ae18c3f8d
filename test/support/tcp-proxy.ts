import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

type Pair = { readonly client: Socket; readonly server: Socket; doomed: boolean };

/**
 * A proxy on loopback between a MongoDB client and one server, to provoke what a network can do. Knows of MongoDB's
 * protocol only how the name of a command looks in a message: as the first element, a string, of a BSON document.
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

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts the connection at the server's reply to this command, so many times: the server did it, nobody knows. */
  loseReplies(command: string, times: number): void {
    this.#toLose = { mark: markOf(command), times };
  }

  /** How many replies are still to be lost. */
  get repliesToLose(): number {
    return this.#toLose?.times ?? 0;
  }

  /** Resolves when the next such command has come; it goes on to the server when it is released. */
  hold(command: string): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    this.#toHold = { mark: markOf(command), caught: resolve };
    return promise;
  }

  /** From now on nothing passes and nothing is refused: so does a server that has frozen look. */
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

  /**
   * Resets connections on the side of the client, whatever is under way. New ones are taken.
   *
   * @param share how many of them, from 0 to 1: which is left to chance
   */
  reset(share = 1): void {
    for (const { client } of this.#pairs) if (Math.random() < share) client.resetAndDestroy();
  }

  /** {@link reset} in good order. */
  end(share = 1): void {
    for (const { client } of this.#pairs) if (Math.random() < share) client.end();
  }

  /** Cuts every connection and refuses new ones. */
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
      // An error is followed by 'close', which is all that matters here.
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
