import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as startTls } from 'node:tls';
import { ROOT_CERT } from '../../test/support/tls/pem-files.ts';

/** Longer than any limit of the service that is fuzzed: see `FUZZ_LIMITS`. */
const HANG_MS = 60_000;

/** The beginning of an answer other than 100. */
const FINAL_ANSWER = /HTTP\/1\.1 [2-5]\d\d [A-Z]/g;

/** How long it waits for answers before it ends its side, in milliseconds. */
const PATIENCE_MS = 5_000;

export type Address = { readonly port: number; readonly tls: boolean };

/** What a connection received, until its end. */
export type Seen = {
  readonly bytes: Buffer;
  readonly end: 'closed' | 'reset by the client' | 'hangs';
  /** How long the connection was open, in milliseconds. */
  readonly openMs: number;
  /** How long the client took to send everything, in milliseconds. */
  readonly sendMs: number;
};

/** A client that sends any bytes and records what it receives. */
export class FuzzClient {
  /** A TLS socket, or {@link #tcp}. */
  readonly #socket: Socket;
  readonly #tcp: Socket;
  readonly #received: Buffer[] = [];
  readonly #openedMs: number;
  #sentMs: number | undefined;
  readonly #closed = Promise.withResolvers<void>();
  #isReset = false;

  private constructor(socket: Socket, tcp: Socket, openedMs: number) {
    this.#openedMs = openedMs;
    this.#socket = socket;
    this.#tcp = tcp;
    // The judge compares what was received with what was due.
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => this.#received.push(bytes));
    socket.once('end', () => this.#closed.resolve());
    socket.once('close', () => this.#closed.resolve());
  }

  static async open({ port, tls }: Address): Promise<FuzzClient> {
    const openedMs = performance.now();
    const tcp = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    await once(tcp, 'connect');
    if (!tls) return new FuzzClient(tcp, tcp, openedMs);
    const socket = startTls({ socket: tcp, ca: ROOT_CERT });
    const client = new FuzzClient(socket, tcp, openedMs);
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
   * Ends this side (FIN) after so many answers, or five seconds without them. The service does not answer a client that has
   * ended its side.
   */
  async end(answers: number): Promise<void> {
    this.#sentMs ??= performance.now();
    const begunMs = performance.now();
    const isOpen = () => this.#socket.writable && performance.now() - begunMs < PATIENCE_MS;
    while (this.#answers < answers && isOpen()) await new Promise((resolve) => setTimeout(resolve, 5));
    this.#socket.end();
  }

  get #answers(): number {
    return Buffer.concat(this.#received).toString('latin1').match(FINAL_ANSWER)?.length ?? 0;
  }

  /** Ends the connection (RST). */
  reset(): void {
    this.#isReset = true;
    this.#tcp.resetAndDestroy();
    this.#closed.resolve();
  }

  /** Waits until the service closes the connection. */
  async seen(): Promise<Seen> {
    this.#sentMs ??= performance.now();
    const hang = Promise.withResolvers<'hangs'>();
    const timer = setTimeout(() => hang.resolve('hangs'), HANG_MS);
    const outcome = await Promise.race([this.#closed.promise, hang.promise]);
    clearTimeout(timer);
    const openMs = performance.now() - this.#openedMs;
    this.#socket.destroy();
    const end = this.#isReset ? 'reset by the client' : (outcome ?? 'closed');
    return { bytes: Buffer.concat(this.#received), end, openMs, sendMs: this.#sentMs - this.#openedMs };
  }
}
