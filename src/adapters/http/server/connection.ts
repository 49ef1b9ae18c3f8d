import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { limitUnreadBody } from './limit-unread-body.ts';
import type { Turns } from './turns.ts';
import { MAX_BODY_BYTES } from '../wire/limits.ts';

/** What a parsed request costs that waits, or whose answer does, in bytes. 3 KiB were measured for a short one. */
const REQUEST_BYTES = 4 * 1024;

/**
 * About so much is parsed at a time, in bytes, up to the end of a request's headers: once parsed, a short request takes
 * some thirty times the memory of its bytes.
 */
const PORTION = 256;

/** A client that sends more than this at a time, in bytes, takes turns with others: it may be many requests. */
const BULK = 4 * 1024;

const HEADERS_END = '\r\n\r\n';

/**
 * A connection of a client. One request of it is in progress at a time: the next one is parsed and begun when the
 * operating system has taken the whole answer before it. So a client that pipelines and reads nothing costs one answer
 * and the bytes that have been read from it.
 */
export class Connection {
  readonly socket: Socket;
  readonly #turns: Turns;
  readonly #begin: RequestListener;
  /** Node's listeners: they hand bytes to its parser, and tell it that no more come. */
  #parse: (bytes: Buffer) => void;
  #end: () => void;
  /** What has come and has not been parsed. */
  #rest: Buffer | undefined;
  /** Nothing comes behind the rest. */
  #ended = false;
  /** Nothing is read, because of the rest. */
  #paused = false;
  #latest: ServerResponse | undefined;
  /** The requests that have been parsed and have not begun, in their order: no more than fit into a portion. */
  readonly #waiting: ServerResponse[] = [];
  /** Its turn comes, perhaps behind an answer. */
  #goesOn = false;
  #draining = false;
  /** That the latest answer says "close" is because of the drain. */
  #closedByDrain = false;

  /** @param socket from the event `connection` of an HTTP server */
  constructor(socket: Socket, turns: Turns, begin: RequestListener) {
    this.socket = socket;
    this.#turns = turns;
    this.#begin = begin;
    this.#parse = socket.listeners('data').at(-1) as () => void;
    this.#end = socket.listeners('end').at(-1) as () => void;
    socket.off('data', this.#parse).off('end', this.#end);
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('end', () => {
      if (this.#rest === undefined) this.#end();
      else this.#ended = true;
    });
    // Node resumes the socket when a body is to be read.
    socket.on('resume', () => {
      if (this.#rest !== undefined) this.#advance();
    });
  }

  /** The response to the last request that has been parsed. */
  get latest(): ServerResponse | undefined {
    return this.#latest;
  }

  /** Whether something has come that waits for the answer before it. */
  get isWaiting(): boolean {
    return this.#rest !== undefined || this.#waiting.length > 0;
  }

  /** The client has not taken all that was written for it, or waits for more. */
  get isBehind(): boolean {
    return this.isWaiting || this.socket.writableLength > 0;
  }

  get isInProgress(): boolean {
    return this.#latest !== undefined && !this.#latest.writableFinished && !this.socket.destroyed;
  }

  /** How much memory this client takes by what it has sent, and what it does not take, in bytes. */
  get held(): number {
    const { socket } = this;
    if (socket.destroyed) return 0;
    const latest = this.#latest;
    const body = latest !== undefined && !latest.headersSent ? bodyLength(latest.req) : 0;
    const unread = socket.writableLength > 0 ? socket.writableLength + REQUEST_BYTES : 0;
    const unparsed = (this.#rest?.buffer.byteLength ?? 0) + socket.readableLength;
    return body + unread + unparsed + this.#waiting.length * REQUEST_BYTES;
  }

  /** A request has been parsed. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const earlier = this.#latest;
    if (this.socket.destroyed) return;
    // Behind an answer that says "close", nothing is processed any more: RFC 9112, section 9.6.
    if (earlier?.headersSent && !earlier.shouldKeepAlive) return;
    this.#keepOpen();
    this.#latest = response;
    // Node has thrown away what came with the offer of another protocol.
    if (offersUpgrade(request)) this.#rest = undefined;
    if (this.#draining) this.drain();
    if (bodyLength(request) > 0) response.once('finish', () => limitUnreadBody(request));
    if (this.#waiting.length === 0 && (earlier === undefined || earlier.writableFinished)) {
      this.#begin(request, response);
    } else {
      this.#waiting.push(response);
      this.#goOn(earlier);
    }
  }

  /** From now on the last answer says that it is the last. */
  drain(): void {
    this.#draining = true;
    const latest = this.#latest;
    if (this.#rest !== undefined || latest === undefined || latest.headersSent || !latest.shouldKeepAlive)
      return;
    latest.shouldKeepAlive = false;
    this.#closedByDrain = true;
  }

  /** Throws away whatever comes from now on. What has been parsed is answered. */
  ignore(): void {
    this.#parse = () => {};
    this.#end = () => {};
    this.#rest = undefined;
    if (this.#paused) this.socket.resume();
  }

  #receive(bytes: Buffer): void {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    if (bytes.length <= BULK || (this.#latest !== undefined && !this.#latest.req.complete)) this.#advance();
    else this.#hold(undefined);
  }

  /** Parses what has come, up to the next request whose answer has to be waited for. */
  #advance(): void {
    while (this.#rest !== undefined && this.#mayParse()) {
      const rest = this.#rest;
      const found = rest.length <= PORTION ? -1 : rest.indexOf(HEADERS_END, PORTION - HEADERS_END.length);
      const end = found === -1 ? rest.length : found + HEADERS_END.length;
      this.#rest = end === rest.length ? undefined : rest.subarray(end);
      this.#parse(rest.subarray(0, end));
    }
    if (this.#rest !== undefined) {
      this.#hold(this.#latest);
      return;
    }
    if (this.#paused) {
      this.#paused = false;
      this.socket.resume();
    }
    if (this.#ended) {
      this.#ended = false;
      this.#end();
    }
  }

  /** Whether the next request may begin, or the body of this one has yet to come. */
  #mayParse(): boolean {
    if (this.#waiting.length > 0 || this.socket.destroyed) return false;
    const latest = this.#latest;
    return latest === undefined || latest.writableFinished || !latest.req.complete;
  }

  #hold(after: ServerResponse | undefined): void {
    this.#paused = true;
    this.socket.pause();
    this.#keepOpen();
    this.#goOn(after);
  }

  /** More has come: the latest answer must not say any more that it is the last, or the next would never be sent. */
  #keepOpen(): void {
    const latest = this.#latest;
    if (!this.#closedByDrain || latest === undefined || latest.headersSent) return;
    latest.shouldKeepAlive = true;
    this.#closedByDrain = false;
  }

  /** Has its turn behind this answer. */
  #goOn(after: ServerResponse | undefined): void {
    if (this.#goesOn) return;
    this.#goesOn = true;
    if (after === undefined || after.writableFinished) this.#turns.add(this.#turn);
    else after.once('finish', () => (after.shouldKeepAlive ? this.#turns.add(this.#turn) : this.#drop()));
  }

  #drop(): void {
    this.#waiting.length = 0;
    this.ignore();
  }

  readonly #turn = () => {
    this.#goesOn = false;
    if (this.socket.destroyed) return;
    const response = this.#waiting.shift();
    // What cannot be understood of its body may have been answered already.
    if (response !== undefined && !response.headersSent) this.#begin(response.req, response);
    if (this.#waiting.length > 0) this.#goOn(response);
    else this.#advance();
  };
}

/** How much of a body may have come, in bytes. */
function bodyLength({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return MAX_BODY_BYTES;
  return Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES);
}

/** RFC 9110, section 7.8. */
function offersUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bupgrade\b/i.test(headers.connection ?? '');
}
