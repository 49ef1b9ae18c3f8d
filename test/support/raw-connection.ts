import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { connect as startTls } from 'node:tls';
import type { Answer } from './answer.ts';
import { expectConforms } from './conformance.ts';
import { ROOT_CERT, SPEAKS_TLS } from './tls/pem-files.ts';
import { waitFor } from './wait-for.ts';

const REQUEST_LINE = /([A-Z-]+) (\S+) HTTP\/1\.[01]\r\n/g;

/** A client that sends any bytes, and checks every answer strictly. */
export class RawConnection {
  /** A TLS socket, or {@link #tcp}. */
  readonly #socket: Socket;
  readonly #tcp: Socket;
  #sent = '';
  #received = Buffer.alloc(0);
  #answers = 0;
  /** The server has closed its side, with FIN or RST. */
  #ended = false;
  readonly #news = new EventEmitter();

  private constructor(socket: Socket, tcp: Socket) {
    this.#socket = socket;
    this.#tcp = tcp;
    const end = () => {
      this.#ended = true;
      this.#news.emit('news');
    };
    // A reset discards unread bytes. An answer that is lost this way fails the test that waits for it.
    socket.on('error', () => {});
    socket.on('end', end);
    socket.on('close', end);
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#news.emit('news');
    });
  }

  /** With TLS, the handshake is over on both sides: it may have failed, which ends the connection. */
  static async open(port: number, { tls = SPEAKS_TLS } = {}): Promise<RawConnection> {
    // Half-open: the test decides when its side ends.
    const tcp = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    await once(tcp, 'connect');
    if (!tls) return new RawConnection(tcp, tcp);
    const socket = startTls({ socket: tcp, ca: ROOT_CERT });
    const connection = new RawConnection(socket, tcp);
    // In TLS 1.3 the server ends the handshake last, and sends a session then.
    await new Promise((resolve) => void socket.once('session', resolve).once('close', resolve));
    return connection;
  }

  /** Resolves when the operating system has the bytes. */
  async send(bytes: string | Uint8Array): Promise<void> {
    this.#sent += Buffer.from(bytes).toString('latin1');
    await new Promise<void>((resolve, reject) => {
      this.#socket.write(bytes, (error) => (error == null ? resolve() : reject(error)));
    });
  }

  /** Stops reading until {@link resume}. */
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

  /** The next whole answer, checked; `undefined` when the server closes the connection instead. */
  async next(): Promise<Answer | undefined> {
    const [, method = '', path = ''] = [...this.#sent.matchAll(REQUEST_LINE)][this.#answers] ?? [];
    const parse = () => parseAnswer(this.#received, method) ?? (this.#ended ? 'none' : undefined);
    const parsed = await waitFor(this.#news, 'news', parse);
    if (parsed === 'none') {
      await this.closed();
      return undefined;
    }
    this.#received = this.#received.subarray(parsed.length);
    if (parsed.answer.status !== 100) {
      this.#answers++;
      expectConforms({ method, path, ...parsed.answer });
    }
    return parsed.answer;
  }

  /** The next answer. Rejects when the server closes the connection instead. */
  async answer(): Promise<Answer> {
    const answer = await this.next();
    if (answer === undefined) throw new Error('the connection was closed without an answer');
    return answer;
  }

  /** Resolves when the server closes the connection. Rejects when bytes are left over. */
  async closed(): Promise<void> {
    await waitFor(this.#news, 'news', () => this.#ended || undefined);
    if (this.#received.length > 0)
      throw new Error(`bytes after the last answer: ${this.#received.toString()}`);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/**
 * The first answer in the bytes, and its length; `undefined` when it is incomplete.
 *
 * @throws {Error} if the bytes are not strictly an answer
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
