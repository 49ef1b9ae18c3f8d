import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MAX_BODY_BYTES } from '../wire/limits.ts';
import { hangUp, hangUpUnread } from './hang-up.ts';
import { isLast, replaceClose, setLast } from './node-internals.ts';
import type { RoundRobin } from './round-robin.ts';

/** How many requests of a connection may be without an answer, the one in progress included. */
const MAX_UNANSWERED = 8;

/** The memory that a parsed request or its unread answer takes, in bytes. A short request was measured at 3 KiB. */
const REQUEST_BYTES = 4 * 1024;

/** Input that is longer than this, in bytes, waits for the turn of its connection: it may hold many requests. */
const BULK_BYTES = 4 * 1024;

/** How much is parsed at a time, in bytes. Most requests without a body are shorter. */
const PORTION_BYTES = 512;

/** The same within a body. */
const BODY_PORTION_BYTES = 4 * 1024;

/** How much of a body is read and discarded after the answer, to keep the connection usable. */
const MAX_DISCARDED_BYTES = 1024 * 1024;

/** What the connections of a server share. */
export type ConnectionOptions = {
  readonly roundRobin: RoundRobin;
  readonly handle: RequestListener;
  readonly isDraining: boolean;
};

/**
 * A client's connection, which works on one request at a time. A few more may wait. When there is one too many, the last
 * that waits is answered with `Connection: close`, and nothing after it is executed. The same goes for a request that
 * offers another protocol: Node drops what arrives together with it.
 *
 * Nothing is parsed while the client does not read its answers, or after the last request. It stays in the socket, whose
 * buffer is limited. A client that pipelines and reads nothing therefore costs one answer and a few requests.
 */
export class Connection {
  readonly socket: Socket;
  readonly #options: ConnectionOptions;
  /** The response in progress, or the last one. */
  #current: ServerResponse | undefined;
  /** Responses to the requests that wait for it, oldest first. */
  readonly #waiting: ServerResponse[] = [];
  /** How many requests were parsed in one portion with the last one. Node keeps them until the connection closes. */
  #droppedRequests = 0;
  /** How much came of a body whose request was answered without it. */
  #discardedBytes = 0;
  /** The portions before the current one, of a request whose headers are not complete. */
  #headPortions: Buffer[] | undefined;
  #isStopped = false;
  /** The response that says `Connection: close` only because of the drain. */
  #lastByDrain: ServerResponse | undefined;

  /** @param socket from the `connection` event of an HTTP server */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    // Node's parser gets what is read here: https://nodejs.org/api/stream.html#event-data
    socket.on('readable', this.#receive);
    // Node wants to read a body.
    socket.on('resume', () => {
      if (socket.readableLength > 0) this.#receive();
    });
    // The client has read.
    socket.on('drain', this.#receive);
    replaceClose(socket, () => hangUp(socket));
  }

  /** The response to the last request that was parsed. */
  get latest(): ServerResponse | undefined {
    return this.#waiting.at(-1) ?? this.#current;
  }

  /** Something has arrived that waits for the answer before it. */
  get hasPendingInput(): boolean {
    return this.#waiting.length > 0 || this.socket.readableLength > 0;
  }

  /** The client has not read everything that was written, or has sent something that waits. */
  get isBacklogged(): boolean {
    return !this.socket.destroyed && (this.hasPendingInput || this.socket.writableLength > 0);
  }

  get isAnswering(): boolean {
    return this.#current !== undefined && !this.#current.writableFinished && !this.socket.destroyed;
  }

  /** How much memory the client's requests and unread answers take, in bytes. */
  get heldBytes(): number {
    const { socket } = this;
    if (socket.destroyed) return 0;
    const unread = socket.writableLength > 0 ? socket.writableLength + REQUEST_BYTES : 0;
    const parsed = (this.#waiting.length + this.#droppedRequests) * REQUEST_BYTES;
    const bodies = this.#waiting.reduce((sum, each) => sum + bodyBytes(each), bodyBytes(this.#current));
    return socket.readableLength + unread + parsed + bodies;
  }

  /** The last piece that has arrived of a request, up to the portion that is being parsed. */
  pieceUntil(portion: Buffer): Buffer {
    return Buffer.concat([...(this.#headPortions ?? []), portion]);
  }

  /** Receives a request that was just parsed. */
  accept(request: IncomingMessage, response: ServerResponse): void {
    this.#headPortions = undefined;
    const { latest } = this;
    const unanswered = this.#waiting.length + Number(this.isAnswering);
    if (latest !== undefined && unanswered === MAX_UNANSWERED) {
      setLast(latest, true);
      this.#lastByDrain = undefined;
    }
    if (this.#isEnding || this.socket.destroyed) {
      this.#droppedRequests++;
      return;
    }
    if (latest !== undefined && latest === this.#lastByDrain) setLast(latest, false);
    if (offersUpgrade(request)) setLast(response, true);
    if (latest === undefined || latest.writableFinished) this.#handle(response);
    else if (this.#waiting.push(response) === 1) this.#handleNextAfter(latest);
  }

  /** Makes the latest answer announce the end of the connection, unless more input is waiting. */
  closeAfterLatest(): void {
    const { latest } = this;
    if (this.socket.readableLength > 0 || latest === undefined || latest.headersSent || isLast(latest))
      return;
    setLast(latest, true);
    this.#lastByDrain = latest;
  }

  /** Parses nothing more. Requests that were parsed are still answered. */
  stop(): void {
    this.#isStopped = true;
  }

  /** The latest answer is the last: after `Connection: close`, a server ignores requests (RFC 9112, section 9.6). */
  get #isEnding(): boolean {
    const { latest } = this;
    return latest !== undefined && isLast(latest) && (latest.headersSent || latest !== this.#lastByDrain);
  }

  get #isInBody(): boolean {
    return this.latest?.req.complete === false;
  }

  readonly #receive = () => {
    const isBulk = this.socket.readableLength > BULK_BYTES && !this.#isInBody;
    if (!isBulk) this.#parse();
    else if (this.#mayParse()) this.#options.roundRobin.add(this.#parse);
  };

  readonly #parse = () => {
    const { socket } = this;
    while (this.#mayParse()) {
      const portionBytes = this.#isInBody ? BODY_PORTION_BYTES : PORTION_BYTES;
      const isLong = socket.readableLength > portionBytes;
      const bytes = (isLong ? socket.read(portionBytes) : socket.read()) as Buffer | null;
      if (bytes === null) break;
      this.#limitDiscarded(bytes.length);
      if (socket.readableLength === 0) break;
      (this.#headPortions ??= []).push(bytes);
    }
    this.#headPortions = undefined;
    // Not in `accept`, where more requests may follow in the same portion.
    if (this.#options.isDraining) this.closeAfterLatest();
  };

  #mayParse(): boolean {
    const { socket, latest } = this;
    if (this.#isStopped || socket.destroyed || socket.writableNeedDrain) return false;
    if (latest === undefined) return true;
    const { req: request } = latest;
    return request.complete ? !this.#isEnding : request.readableLength < request.readableHighWaterMark;
  }

  /** Hangs up on a client that keeps sending a body after its request was answered without it. Node has no limit. */
  #limitDiscarded(bytes: number): void {
    const isDiscarded = this.#isInBody && this.latest!.writableFinished;
    this.#discardedBytes = isDiscarded ? this.#discardedBytes + bytes : 0;
    if (this.#discardedBytes <= MAX_DISCARDED_BYTES) return;
    this.stop();
    hangUpUnread(this.socket);
  }

  #handle(response: ServerResponse): void {
    this.#current = response;
    // A request with a broken body is answered before its turn.
    if (!response.headersSent) this.#options.handle(response.req, response);
  }

  #handleNextAfter(response: ServerResponse): void {
    const handleNext = () => {
      // Nothing waits any more after the last answer.
      if (isLast(response)) this.#waiting.length = 0;
      else this.#options.roundRobin.add(this.#takeTurn);
    };
    if (response.writableFinished) handleNext();
    else response.once('finish', handleNext);
  }

  readonly #takeTurn = () => {
    const response = this.#waiting.shift();
    if (response === undefined || this.socket.destroyed) return;
    this.#handle(response);
    if (this.#waiting.length > 0) this.#handleNextAfter(response);
  };
}

/** RFC 9110, section 7.8. */
function offersUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}

/** The most of the request's body that can be in memory, in bytes. */
function bodyBytes(response: ServerResponse | undefined): number {
  if (response === undefined || response.headersSent) return 0;
  const { headers } = response.req;
  if (headers['transfer-encoding'] !== undefined) return MAX_BODY_BYTES;
  return Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES);
}
