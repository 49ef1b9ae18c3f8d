import { IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { answerHeaders, requestIdOf } from '../contract/answer-headers.ts';
import { errorJson, type RequestRefused } from '../contract/errors.ts';
import { MAX_BODY_BYTES } from '../contract/limits.ts';
import { NOT_HTTP } from '../contract/refusals.ts';
import { Answer } from './answer.ts';
import { isAmbiguous } from './broken-request.ts';
import { attach, endParsing, isLast, replaceClose, setLast } from './node-internals.ts';

/** How many requests of a connection may be without an answer, the one in progress included. */
const MAX_UNANSWERED = 8;

/** The memory that a parsed request or its unread answer takes, in bytes. A short request was measured at 3 KiB. */
const REQUEST_BYTES = 4 * 1024;

/** How much of a body is read and dropped after the answer, to keep the connection usable. */
const MAX_DROPPED_BODY_BYTES = 1024 * 1024;

/** How much is read and dropped after the last answer, in bytes. A longer URL is not answered. */
const MAX_DROPPED_BYTES = 16 * 1024 * 1024;

/** How long a client may keep sending after its last answer before the connection is destroyed, in milliseconds. */
const LINGER_MS = 1_000;

/** What the connections of a server share. */
export type ConnectionOptions = {
  readonly handle: RequestListener;
  /** Makes the last answer on each connection, from now on, say that it is the last. */
  readonly isDraining: boolean;
  /** Runs one task in each iteration of the event loop. All other events are served in between. */
  readonly runInTurn: (task: () => void) => void;
};

/**
 * A client's connection, which works on one request at a time. A few more may wait. When there is one too many, the last
 * that waits is answered with `Connection: close`, and nothing after it is parsed. The same goes for what follows a
 * request whose end is in doubt, or that offers another protocol: Node drops what arrives together with it.
 */
export class Connection {
  readonly socket: Socket;
  readonly #options: ConnectionOptions;
  /** The answer in progress, or the last one. */
  #current: Answer | undefined;
  /** Answers to the requests that wait for it, oldest first. */
  readonly #waiting: Answer[] = [];
  /** How much has arrived in a row that nothing needs, in bytes. */
  #droppedBytes = 0;
  /** Nothing more is parsed. Requests that were parsed are still answered. */
  isStopped = false;

  /** @param socket from the `connection` event of an HTTP server */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    // Node's parser gets what is read here: https://nodejs.org/api/stream.html#event-data
    // Over TLS, each record is announced. Those that came together are read together, such as those of a long URL.
    socket.on('readable', 'encrypted' in socket ? () => setImmediate(this.#read) : this.#read);
    // Node wants to read a body.
    socket.on('resume', this.#read);
    // The client has read.
    socket.on('drain', this.#read);
    replaceClose(socket, () => {
      // The client has ended its side. Something else may wait for its answer.
      if (this.#waiting.length === 0 || isLast(this.#current!)) this.hangUp();
    });
  }

  /** The answer to the last request that was parsed. */
  get latest(): Answer | undefined {
    return this.#waiting.at(-1) ?? this.#current;
  }

  /** The client has not read everything that was written, or has sent something that waits. */
  get isBacklogged(): boolean {
    const { destroyed, readableLength, writableLength } = this.socket;
    return !destroyed && this.#waiting.length + readableLength + writableLength > 0;
  }

  get isAnswering(): boolean {
    // At the end, Node takes the socket away.
    return this.#current !== undefined && this.#current.socket !== null && !this.socket.destroyed;
  }

  /** How much memory the client's requests and unread answers take, in bytes. */
  get heldBytes(): number {
    const { socket } = this;
    if (socket.destroyed) return 0;
    const unreadBytes = socket.writableLength + (this.#current?.waitingBytes ?? 0);
    const requests = this.#waiting.length + Number(unreadBytes > 0);
    const bodies = this.#waiting.reduce((sum, each) => sum + bodyBytes(each), bodyBytes(this.#current));
    return socket.readableLength + unreadBytes + requests * REQUEST_BYTES + bodies;
  }

  /**
   * Receives a request that was just parsed.
   *
   * @throws {Error} after the last one, to end Node's parser
   */
  accept(answer: Answer): void {
    const { latest } = this;
    const unanswered = this.#waiting.length + Number(this.isAnswering);
    if (latest !== undefined && unanswered === MAX_UNANSWERED) setLast(latest);
    // After `Connection: close`, a server ignores requests: RFC 9112, section 9.6.
    if (latest !== undefined && isLast(latest)) this.isStopped = true;
    if (!this.isStopped) {
      this.#push(answer);
      if (offersUpgrade(answer.req)) setLast(answer);
      if (isAmbiguous(answer.req)) this.refuse(NOT_HTTP);
    }
    if (this.isStopped) endParsing();
  }

  /**
   * Answers input after which nothing can be trusted: bytes that are not HTTP, a request that does not end in time, or
   * one that a proxy could read differently. The answer comes after those before it, and ends the connection.
   */
  refuse(refused: RequestRefused): void {
    const { latest } = this;
    this.isStopped = true;
    // Otherwise, the input has no answer object yet.
    const isOfLatest = latest !== undefined && (!latest.req.complete || isAmbiguous(latest.req));
    if (isOfLatest && latest.headersSent) {
      // The request is answered without its body. The answer may lack its own body yet.
      if (latest.writableFinished) this.hangUp();
      else latest.once('finish', () => this.hangUp());
      return;
    }
    const answer = isOfLatest ? latest : new Answer(new IncomingMessage(this.socket));
    const body = errorJson(refused);
    setLast(answer);
    answer.setHeaders(new Map(Object.entries(answerHeaders(requestIdOf(answer.req), body))));
    answer.writeHead(refused.status).end(body);
    if (isOfLatest) return;
    this.#push(answer);
    this.#takeUp();
  }

  #push(answer: Answer): void {
    answer.becomesLast = this.#becomesLast;
    answer.on('finish', this.#takeUp);
    this.#waiting.push(answer);
  }

  /**
   * Closes our side of the connection when everything is written, and all of it a second later: RFC 9112, section 9.6.
   * Closing all of it while bytes of the client are unread resets the connection, and a reset can destroy the answer
   * before the client reads it. What arrives meanwhile is dropped.
   */
  hangUp(): void {
    const { socket } = this;
    if (socket.writableEnded) return;
    this.isStopped = true;
    socket.end();
    // Not before: a slow client still reads. One that never reads meets the idle timeout.
    socket.once('finish', () => {
      const timer = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.once('close', () => clearTimeout(timer));
    });
    this.#read();
  }

  readonly #becomesLast = (answer: Answer) => this.#options.isDraining && answer === this.latest;

  readonly #read = () => {
    try {
      while (this.#mayRead() && this.#readPiece());
    } catch (error) {
      // Thrown by `accept`.
      if (!this.isStopped) throw error;
    }
    // A request that is alone waits for no turn.
    if (this.#waiting.length === 1) this.#handleNext();
    else this.#takeUp();
  };

  /**
   * Reads on when its own side has ended: a TLS socket that is paused then reads anyway, and keeps everything in memory.
   * That was 400 MB within a second in Node 26.10.
   */
  #mayRead(): boolean {
    const { socket, latest } = this;
    if (this.isStopped) return socket.writableEnded;
    // Node parses nothing either while the client does not read, or the application does not read a body.
    if (latest?.req.complete === false && latest.req.readableLength >= latest.req.readableHighWaterMark)
      return false;
    return !socket.writableNeedDrain;
  }

  /** @returns whether there was any input */
  #readPiece(): boolean {
    // Without a length, it would be one TLS record.
    const bytes = this.socket.read(this.socket.readableLength) as Buffer | null;
    if (bytes === null) return false;
    const { latest } = this;
    const isInDroppedBody = latest?.req.complete === false && latest.writableFinished;
    this.#droppedBytes = this.isStopped || isInDroppedBody ? this.#droppedBytes + bytes.length : 0;
    // A client keeps sending a body after its request was answered without it. Node has no limit.
    if (!this.isStopped && this.#droppedBytes > MAX_DROPPED_BODY_BYTES) this.hangUp();
    else if (this.#droppedBytes > MAX_DROPPED_BYTES) this.socket.destroy();
    return true;
  }

  readonly #takeUp = () => {
    const [next] = this.#waiting;
    // The answer to a broken request is on its way.
    if (next?.headersSent === true) this.#handleNext();
    else if (next !== undefined) this.#options.runInTurn(this.#handleNext);
  };

  readonly #handleNext = () => {
    if (this.isAnswering || !this.socket.writable) return;
    const answer = this.#waiting.shift();
    if (answer === undefined) return;
    this.#current = answer;
    if (answer.socket === null) attach(answer);
    this.#options.handle(answer.req, answer);
  };
}

/** RFC 9110, section 7.8. */
function offersUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}

/** The most of the request's body that can be in memory, in bytes. */
function bodyBytes(answer: Answer | undefined): number {
  if (answer === undefined || answer.headersSent) return 0;
  const { headers } = answer.req;
  if (headers['transfer-encoding'] !== undefined) return MAX_BODY_BYTES;
  return Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES);
}
