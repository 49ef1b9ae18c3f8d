import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as startTls } from 'node:tls';
import type { Answer } from './answer.ts';
import { expectConforms } from './conformance.ts';
import { ROOT_CERT, SPEAKS_TLS } from './tls/pem-files.ts';
import { waitFor } from './wait-for.ts';

const REQUEST_LINE = /([A-Z-]+) (\S+) HTTP\/1\.[01]\r\n/g;

/** A connection to a server. It sends any bytes, even invalid HTTP, and checks every answer strictly. */
export class RawConnection {
  /** The TLS socket on {@link #tcp}. Without TLS, it is {@link #tcp} itself. */
  readonly #socket: Socket;
  readonly #tcp: Socket;
  #sentText = '';
  #receivedBytes = Buffer.alloc(0);
  #answerCount = 0;
  /** Whether the server has closed its side, with FIN or RST. */
  #hasEnded = false;
  readonly #events = new EventEmitter();

  private constructor(socket: Socket, tcp: Socket) {
    this.#socket = socket;
    this.#tcp = tcp;
    const end = () => {
      this.#hasEnded = true;
      this.#events.emit('news');
    };
    // A reset is no failure here. It may discard an answer, and then the test that waits for this answer fails.
    socket.on('error', () => {});
    socket.on('end', end);
    socket.on('close', end);
    socket.on('data', (bytes: Buffer) => {
      this.#receivedBytes = Buffer.concat([this.#receivedBytes, bytes]);
      this.#events.emit('news');
    });
  }

  /** Opens a connection. With TLS, resolves after the handshake. If the handshake failed, the connection is closed. */
  static async open(port: number, { tls = SPEAKS_TLS } = {}): Promise<RawConnection> {
    // `allowHalfOpen` lets the test decide when its own side ends.
    const tcp = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    await once(tcp, 'connect');
    if (!tls) return new RawConnection(tcp, tcp);
    const socket = startTls({ socket: tcp, ca: ROOT_CERT });
    const connection = new RawConnection(socket, tcp);
    // In TLS 1.3 the server is the last to finish the handshake. It then sends a session.
    await new Promise((resolve) => void socket.once('session', resolve).once('close', resolve));
    return connection;
  }

  /** Sends bytes. Resolves when the operating system has taken them. */
  async send(bytes: string | Uint8Array): Promise<void> {
    this.#sentText += Buffer.from(bytes).toString('latin1');
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error == null ? resolve() : reject(error)));
    });
  }

  /** Stops reading until {@link resume} is called. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Ends this side (FIN), but keeps reading. */
  endSending(): void {
    this.#socket.end();
  }

  /** Resets the connection (RST). */
  abort(): void {
    this.#tcp.resetAndDestroy();
  }

  /** Waits for the next complete answer, and checks it. Resolves with `undefined` if the connection is closed. */
  async next(): Promise<Answer | undefined> {
    const [, method = '', path = ''] = [...this.#sentText.matchAll(REQUEST_LINE)][this.#answerCount] ?? [];
    const parse = () => parseAnswer(this.#receivedBytes, method) ?? (this.#hasEnded ? 'none' : undefined);
    const parsed = await waitFor(this.#events, 'news', parse);
    if (parsed === 'none') {
      await this.closed();
      return undefined;
    }
    this.#receivedBytes = this.#receivedBytes.subarray(parsed.length);
    if (parsed.answer.status !== 100) {
      this.#answerCount++;
      expectConforms({ method, path, ...parsed.answer });
    }
    return parsed.answer;
  }

  /** Like {@link next}, but rejects if the server closes the connection without an answer. */
  async answer(): Promise<Answer> {
    const answer = await this.next();
    if (answer === undefined) throw new Error('the connection was closed without an answer');
    return answer;
  }

  /** Resolves when the server closes the connection. Rejects if it sent bytes that no test has read as an answer. */
  async closed(): Promise<void> {
    await waitFor(this.#events, 'news', () => this.#hasEnded || undefined);
    if (this.#receivedBytes.length > 0)
      throw new Error(`bytes after the last answer: ${this.#receivedBytes.toString()}`);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/**
 * The first answer in the bytes, and its length in bytes. The result is `undefined` if the answer is incomplete.
 *
 * @throws {Error} if the bytes break the strict syntax of an answer
 */
export function parseAnswer(bytes: Buffer, method: string): { answer: Answer; length: number } | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  if (head === -1) return undefined;
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, head).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) [\w ]+$/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`not a status line: ${statusLine}`);
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (const line of lines) {
    const [, name, value] = /^([\w-]+): ([^\r\n]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`not a header: ${line}`);
    if (name.toLowerCase() in headers) throw new Error(`sent twice: ${line}`);
    headers[name.toLowerCase()] = value;
    rawHeaders.push(name, value);
  }
  const start = head + 4;
  const hasBody = method !== 'HEAD' && status !== 204 && status >= 200;
  const length = start + (hasBody ? Number(headers['content-length']) : 0);
  if (Number.isNaN(length)) throw new Error('an answer without Content-Length');
  if (bytes.length < length) return undefined;
  return { answer: { status, headers, rawHeaders, body: bytes.toString('utf8', start, length) }, length };
}
