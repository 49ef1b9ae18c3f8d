import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as startTls } from 'node:tls';
import { ROOT_CERT } from '../../test/support/tls/pem-files.ts';

/** A connection that is open for this long counts as hanging. Longer than every limit in `FUZZ_LIMITS`. */
const HANG_MS = 60_000;

/** The beginning of an answer. `100 Continue` is not counted: the real answer follows. */
const FINAL_ANSWER = /HTTP\/1\.1 [2-5]\d\d [A-Z]/g;

/** How long the client waits for answers before it ends its side, in milliseconds. */
const MAX_WAIT_MS = 5_000;

export type Address = { readonly port: number; readonly tls: boolean };

/** What happened on a connection until its end. */
export type ConnectionRecord = {
  /** All received bytes. */
  readonly bytes: Buffer;
  /** `closed`: the service closed the connection. `hangs`: the connection stayed open. */
  readonly end: 'closed' | 'reset by the client' | 'hangs';
  /** How long the connection was open, in milliseconds. */
  readonly openMs: number;
  /** The time from the opening of the connection until the client had sent everything, in milliseconds. */
  readonly sendMs: number;
};

/** A client that sends any bytes and records what it receives. */
export class FuzzClient {
  /** A TLS socket, or {@link #tcp}. */
  readonly #socket: Socket;
  readonly #tcp: Socket;
  /** The received bytes. */
  readonly #chunks: Buffer[] = [];
  readonly #openTimeMs: number;
  #sentTimeMs: number | undefined;
  readonly #closeEvent = Promise.withResolvers<void>();
  #isReset = false;

  private constructor(socket: Socket, tcp: Socket, openTimeMs: number) {
    this.#openTimeMs = openTimeMs;
    this.#socket = socket;
    this.#tcp = tcp;
    // An error also ends the connection. The judge then finds out which answers are missing.
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => this.#chunks.push(bytes));
    socket.once('end', () => this.#closeEvent.resolve());
    socket.once('close', () => this.#closeEvent.resolve());
  }

  static async open({ port, tls }: Address): Promise<FuzzClient> {
    const openTimeMs = performance.now();
    const tcp = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    await once(tcp, 'connect');
    if (!tls) return new FuzzClient(tcp, tcp, openTimeMs);
    const socket = startTls({ socket: tcp, ca: ROOT_CERT });
    const client = new FuzzClient(socket, tcp, openTimeMs);
    await once(socket, 'secureConnect');
    return client;
  }

  /** Resolves when the operating system has the bytes, or when the connection is gone. */
  async send(bytes: string): Promise<void> {
    if (!this.#socket.writable) return;
    await new Promise<void>((resolve) => {
      this.#socket.write(bytes, 'latin1', () => resolve());
    });
  }

  /**
   * Ends the client's side (FIN) when the client has received `count` answers, or after five seconds. The client must
   * wait, because the service does not answer a client that has ended its side.
   */
  async end(count: number): Promise<void> {
    this.#sentTimeMs ??= performance.now();
    const startMs = performance.now();
    const isWaiting = () => this.#socket.writable && performance.now() - startMs < MAX_WAIT_MS;
    while (this.#answerCount < count && isWaiting()) await new Promise((resolve) => setTimeout(resolve, 5));
    this.#socket.end();
  }

  get #answerCount(): number {
    return Buffer.concat(this.#chunks).toString('latin1').match(FINAL_ANSWER)?.length ?? 0;
  }

  /** Resets the connection (RST). */
  reset(): void {
    this.#isReset = true;
    this.#tcp.resetAndDestroy();
    this.#closeEvent.resolve();
  }

  /** Waits until the service closes the connection, or until `HANG_MS` is over. */
  async waitForClose(): Promise<ConnectionRecord> {
    this.#sentTimeMs ??= performance.now();
    const hang = Promise.withResolvers<'hangs'>();
    const timer = setTimeout(() => hang.resolve('hangs'), HANG_MS);
    const outcome = await Promise.race([this.#closeEvent.promise, hang.promise]);
    clearTimeout(timer);
    const openMs = performance.now() - this.#openTimeMs;
    this.#socket.destroy();
    const end = this.#isReset ? 'reset by the client' : (outcome ?? 'closed');
    return { bytes: Buffer.concat(this.#chunks), end, openMs, sendMs: this.#sentTimeMs - this.#openTimeMs };
  }
}
