import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

type Pair = {
  readonly client: Socket;
  readonly server: Socket;
  /** What the client sent first. */
  first: Buffer | undefined;
  doomed: boolean;
};

/**
 * A proxy on loopback between clients and one server, which simulates network failures. Of MongoDB's protocol, it only
 * knows how a message names its command: as the first element, a string, of a BSON document.
 */
export class TcpProxy implements AsyncDisposable {
  readonly #host: string;
  readonly #port: number;
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));
  readonly #pairs = new Set<Pair>();
  #isCut: (first: Buffer | undefined) => boolean = () => false;
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
    this.loseAnswers(markOf(command), times);
  }

  /** Cuts the connection instead of forwarding the next answers to what contains this mark. */
  loseAnswers(mark: Buffer, times: number): void {
    this.#toLose = { mark, times };
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
    this.cut(() => true);
  }

  resume(): void {
    this.cut(() => false);
  }

  /**
   * Stops forwarding on some connections, old ones and new ones, and forwards on all others. As in a broken network,
   * nothing arrives, and no connection ends.
   *
   * @param isCut decides by what the client sent first
   */
  cut(isCut: (first: Buffer | undefined) => boolean): void {
    this.#isCut = isCut;
    for (const pair of this.#pairs) this.#flow(pair);
  }

  /** Cuts every connection and refuses new ones. Idempotent. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const pair of this.#pairs) this.#end(pair);
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #accept(client: Socket): void {
    const server = createConnection({ host: this.#host, port: this.#port, noDelay: true });
    const pair: Pair = { client, server, first: undefined, doomed: false };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      // After an error, 'close' follows.
      socket.on('error', () => {}).on('close', () => this.#end(pair));
    }
    client.on('data', (chunk: Buffer) => {
      pair.first ??= chunk;
      this.#toServer(pair, chunk);
      this.#flow(pair);
    });
    server.on('data', (chunk) => {
      if (pair.doomed) this.#end(pair);
      else client.write(chunk);
    });
    this.#flow(pair);
  }

  #flow({ client, server, first }: Pair): void {
    const isCut = this.#isCut(first);
    for (const socket of [client, server]) {
      if (isCut) socket.pause();
      else if (socket.isPaused()) socket.resume();
    }
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

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}

function markOf(command: string): Buffer {
  return Buffer.from(`\x02${command}\0`, 'latin1');
}
