import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { MAX_BODY_BYTES } from '../wire/limits.ts';
import { hangUp } from './hang-up.ts';
import { limitDiscardedBody } from './limit-discarded-body.ts';
import type { RoundRobin } from './round-robin.ts';
import { UnparsedInput } from './unparsed-input.ts';
import { UpgradeOffer } from './upgrade-offer.ts';

/** The memory that a parsed request or its unread answer takes, in bytes. A short request was measured at 3 KiB. */
const REQUEST_BYTES = 4 * 1024;

/** Input that is longer than this, in bytes, waits for the turn of its connection: it may hold many requests. */
const BULK_BYTES = 4 * 1024;

export type ConnectionOptions = {
  readonly roundRobin: RoundRobin;
  readonly handle: RequestListener;
  readonly isDraining: () => boolean;
};

/**
 * A client's connection, which works on one request at a time.
 *
 * What arrives is held as {@link UnparsedInput} until every request before it is answered. Then Node parses a portion
 * of it and emits the requests in it, which {@link accept} receives. The first of them is handled at once; the others
 * wait. When the operating system has taken the whole answer, the connection queues for its next turn, and other
 * connections get theirs in between. In that turn it handles the next waiting request or, if none waits, parses the
 * next portion.
 *
 * A client that pipelines and reads nothing therefore costs one answer and the bytes that were read from it.
 */
export class Connection {
  readonly socket: Socket;
  readonly #input: UnparsedInput;
  readonly #options: ConnectionOptions;
  #latest: ServerResponse | undefined;
  /** Responses to the requests that were parsed and are not handled yet, oldest first. */
  readonly #waiting: ServerResponse[] = [];
  /** The connection is in the queue for its next turn, or joins it after the answer in progress. */
  #isScheduled = false;
  /** The latest answer says `Connection: close` only because of the drain. */
  #isClosedByDrain = false;
  readonly #offer = new UpgradeOffer();
  /** The latest answer says `Connection: close` only because of an offer whose body is not complete. */
  #isClosedByOffer = false;

  /** @param socket from the `connection` event of an HTTP server */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.#options = options;
    this.#input = new UnparsedInput(socket, {
      onData: (bytes) => this.#receive(bytes),
      onResume: () => this.#continueParsing(),
      onEnd: () => this.#parseEnd(),
    });
    // Node calls this after an answer with `Connection: close`. It would close all of the connection at once, although
    // the client may still be sending: RFC 9112, section 9.6.
    socket.destroySoon = () => {
      this.discardInput();
      hangUp(socket);
    };
  }

  /** The response to the last request that was parsed. */
  get latest(): ServerResponse | undefined {
    return this.#latest;
  }

  /** Something has arrived that waits for the answer before it. */
  get hasPendingInput(): boolean {
    return !this.#input.isEmpty || this.#waiting.length > 0;
  }

  /** The client has not read everything that was written, or has sent something that waits. */
  get isBacklogged(): boolean {
    return this.hasPendingInput || this.socket.writableLength > 0;
  }

  get isAnswering(): boolean {
    return this.#latest !== undefined && !this.#latest.writableFinished && !this.socket.destroyed;
  }

  /** How much memory the client's requests and unread answers take, in bytes. */
  get heldBytes(): number {
    const { socket } = this;
    if (socket.destroyed) return 0;
    const latest = this.#latest;
    const body = latest !== undefined && !latest.headersSent ? maxBodyBytes(latest.req) : 0;
    const unread = socket.writableLength > 0 ? socket.writableLength + REQUEST_BYTES : 0;
    return body + unread + this.#input.heldBytes + this.#waiting.length * REQUEST_BYTES;
  }

  /** Receives a request that was just parsed. */
  accept(request: IncomingMessage, response: ServerResponse): void {
    const earlier = this.#latest;
    if (this.socket.destroyed) return;
    // After an answer with `Connection: close`, the server ignores further requests: RFC 9112, section 9.6.
    if (earlier?.headersSent && !earlier.shouldKeepAlive) return;
    this.#undoCloseAfterLatest();
    this.#latest = response;
    if (maxBodyBytes(request) > 0) response.once('finish', () => limitDiscardedBody(request));
    if (earlier === undefined || earlier.writableFinished) {
      this.#options.handle(request, response);
    } else {
      this.#waiting.push(response);
      this.#schedule(earlier);
    }
  }

  /** Makes the latest answer announce the end of the connection, unless more input is waiting. */
  closeAfterLatest(): void {
    const latest = this.#latest;
    if (!this.#input.isEmpty || latest === undefined || latest.headersSent || !latest.shouldKeepAlive) return;
    latest.shouldKeepAlive = false;
    this.#isClosedByDrain = true;
  }

  /** Drops everything that has arrived and will arrive. Requests that were parsed are still answered. */
  discardInput(): void {
    this.#input.discard();
  }

  #receive(bytes: number): void {
    const isInBody = this.#latest !== undefined && !this.#latest.req.complete;
    if (bytes <= BULK_BYTES || isInBody) this.#continueParsing();
    else this.#hold(undefined);
  }

  /** Parses the input up to the first request that has to wait for an answer. */
  #continueParsing(): void {
    while (!this.#input.isEmpty && this.#mayParse()) {
      const before = this.#latest;
      const isBetweenRequests = before === undefined || before.req.complete;
      const portion = this.#input.parsePortion();
      const latest = this.#latest;
      const place = { isNew: latest !== before, isBetweenRequests };
      const hasLost = this.#offer.hasLost(portion, latest?.req, place);
      if (latest === undefined) continue;
      if (hasLost) this.#endAfter(latest);
      else this.#closeAfterOpenOffer(latest);
    }
    if (!this.#input.isEmpty) {
      this.#hold(this.#latest);
      return;
    }
    // Not in `accept`, where more requests may follow in the same portion.
    if (this.#options.isDraining()) this.closeAfterLatest();
    this.#input.resume();
  }

  #parseEnd(): void {
    if (this.#offer.hidesErrors) this.socket.emit('error', new Error('the last request is not valid HTTP'));
    else this.#input.parseEnd();
  }

  /** True if all requests before the input are answered, or if the input belongs to the body of the latest one. */
  #mayParse(): boolean {
    if (this.#waiting.length > 0 || this.socket.destroyed) return false;
    const latest = this.#latest;
    return latest === undefined || latest.writableFinished || !latest.req.complete;
  }

  /** An answer that precedes the end of the body must say already that what follows may be lost. */
  #closeAfterOpenOffer(latest: ServerResponse): void {
    const { isOpen } = this.#offer;
    if (latest.headersSent || isOpen === this.#isClosedByOffer || (isOpen && !latest.shouldKeepAlive)) return;
    latest.shouldKeepAlive = !isOpen;
    this.#isClosedByOffer = isOpen;
  }

  /** Ends the connection after this answer, because what follows the request is lost. */
  #endAfter(response: ServerResponse): void {
    this.discardInput();
    response.shouldKeepAlive = false;
  }

  /** Stops reading until this connection's turn after the answer `after`. */
  #hold(after: ServerResponse | undefined): void {
    this.#input.pause();
    this.#undoCloseAfterLatest();
    this.#schedule(after);
  }

  /** For input that arrives later. It would never be answered after `Connection: close`. */
  #undoCloseAfterLatest(): void {
    const latest = this.#latest;
    if (!this.#isClosedByDrain || latest === undefined || latest.headersSent) return;
    latest.shouldKeepAlive = true;
    this.#isClosedByDrain = false;
  }

  /** Queues for this connection's next turn once the answer `after` is out. */
  #schedule(after: ServerResponse | undefined): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (after === undefined || after.writableFinished) this.#queue();
    else after.once('finish', () => (after.shouldKeepAlive ? this.#queue() : this.#dropAll()));
  }

  #queue(): void {
    this.#options.roundRobin.add(this.#takeTurn);
  }

  readonly #takeTurn = () => {
    this.#isScheduled = false;
    if (this.socket.destroyed) return;
    const response = this.#waiting.shift();
    // A request with a broken body is answered before its turn.
    if (response !== undefined && !response.headersSent) this.#options.handle(response.req, response);
    if (this.#waiting.length > 0) this.#schedule(response);
    else this.#continueParsing();
  };

  #dropAll(): void {
    this.#waiting.length = 0;
    this.discardInput();
  }
}

/** The most of the request's body that can be in memory, in bytes. */
function maxBodyBytes({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return MAX_BODY_BYTES;
  return Math.min(Number(headers['content-length'] ?? 0), MAX_BODY_BYTES);
}
