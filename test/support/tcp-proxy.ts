import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';

type Pair = {
  readonly client: Socket;
  readonly server: Socket;
  /** The first chunk that the client sent. */
  firstChunk: Buffer | undefined;
  /** Whether the next chunk from the server is lost, and the connection is cut. */
  losesReply: boolean;
};

/**
 * A proxy on loopback between clients and one server, which simulates network failures. It finds a MongoDB command in a
 * message by its name, which is the key of a string in a BSON document.
 */
export class TcpProxy implements AsyncDisposable {
  readonly #host: string;
  readonly #port: number;
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));
  readonly #pairs = new Set<Pair>();
  #isCut: (firstChunk: Buffer | undefined) => boolean = () => false;
  #nextLoss: { readonly mark: Buffer; times: number } | undefined;
  #nextHold: { readonly mark: Buffer; readonly onArrival: (forward: () => void) => void } | undefined;

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

  /** Cuts the connection instead of forwarding a reply to this command, `times` times. The server executes it. */
  loseReplies(command: string, times: number): void {
    this.loseAnswers(markOf(command), times);
  }

  /** Cuts the connection instead of forwarding an answer to a chunk that contains `mark`, `times` times. */
  loseAnswers(mark: Buffer, times: number): void {
    this.#nextLoss = { mark, times };
  }

  /** How many replies remain to be lost. */
  get repliesToLose(): number {
    return this.#nextLoss?.times ?? 0;
  }

  /** Holds the next command of this name. Resolves when it arrives, with a function that forwards it to the server. */
  hold(command: string): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<() => void>();
    this.#nextHold = { mark: markOf(command), onArrival: resolve };
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
   * Stops forwarding on the open and future connections for which `isCut` returns true. Forwards on all other
   * connections. As in a broken network, nothing arrives on a cut connection, and the connection does not end.
   *
   * @param isCut receives the first chunk that the client sent, or `undefined` before this chunk
   */
  cut(isCut: (firstChunk: Buffer | undefined) => boolean): void {
    this.#isCut = isCut;
    for (const pair of this.#pairs) this.#pauseOrResume(pair);
  }

  /** Cuts every connection, and refuses new connections. A second call does nothing. */
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
    const pair: Pair = { client, server, firstChunk: undefined, losesReply: false };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      // An error needs no action, because the event 'close' follows it.
      socket.on('error', () => {}).on('close', () => this.#end(pair));
    }
    client.on('data', (chunk: Buffer) => {
      pair.firstChunk ??= chunk;
      this.#toServer(pair, chunk);
      this.#pauseOrResume(pair);
    });
    server.on('data', (chunk) => {
      if (pair.losesReply) this.#end(pair);
      else client.write(chunk);
    });
    this.#pauseOrResume(pair);
  }

  #pauseOrResume({ client, server, firstChunk }: Pair): void {
    const isCut = this.#isCut(firstChunk);
    for (const socket of [client, server]) {
      if (isCut) socket.pause();
      else if (socket.isPaused()) socket.resume();
    }
  }

  #toServer(pair: Pair, chunk: Buffer): void {
    const hold = this.#nextHold;
    if (hold !== undefined && chunk.includes(hold.mark)) {
      this.#nextHold = undefined;
      hold.onArrival(() => this.#toServer(pair, chunk));
      return;
    }
    const loss = this.#nextLoss;
    if (loss !== undefined && loss.times > 0 && chunk.includes(loss.mark)) {
      loss.times--;
      pair.losesReply = true;
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
