import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream';
import { errorJson, type RequestRefused } from '../contract/errors.ts';
import { NOT_HTTP } from '../contract/refusals.ts';
import { requestIdOf } from '../contract/request-id.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { isAmbiguous, lastAnswer } from './broken-request.ts';

/** How many requests of a connection may be without an answer, the one in progress included. */
const MAX_UNANSWERED = 16;

/** The memory that a parsed request takes, in bytes. A short request was measured at 3 KiB. */
const REQUEST_BYTES = 4 * 1024;

/** How long a client may keep sending after the answer to input that is not a request, in milliseconds. */
const LINGER_MS = 1_000;

/** What the connections of a server have in common. */
type Service = { readonly handle: RequestListener; readonly log: Pick<RequestLog, 'answered'> };

/**
 * A client's connection. Node parses its requests as they come. They are handled one at a time, in their order. After the
 * last one that is answered, requests are ignored, as RFC 9112, section 9.6, asks.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #service: Service;
  /** All that Node has parsed and not answered, oldest first. The first is in progress. Ignored ones are at the end. */
  readonly #unanswered: ServerResponse[] = [];
  /** The answer that the application was last asked for. */
  #current: ServerResponse | undefined;
  /** The answer to the last request that is not ignored, given or not. `undefined` before the first request. */
  latest: ServerResponse | undefined;
  /** Further requests are ignored. */
  #isStopped = false;
  /** The last answer that the client waits for is the last. */
  #isEnding = false;
  /** Why the body of the latest request cannot be read. */
  #broken: RequestRefused | undefined;

  constructor(socket: Socket, service: Service) {
    this.#socket = socket;
    this.#service = service;
  }

  /** How much memory the client's unread answers and its requests take, in bytes. */
  get heldBytes(): number {
    const { destroyed, writableLength } = this.#socket;
    const bodyBytes = this.#unanswered.reduce((sum, { req }) => sum + req.readableLength, 0);
    return destroyed ? 0 : writableLength + bodyBytes + REQUEST_BYTES * this.#unanswered.length;
  }

  /** Receives a request whose headers were just parsed. */
  accept(response: ServerResponse): void {
    const { req } = response;
    const count = this.#unanswered.push(response);
    if (!this.#isStopped && isAmbiguous(req)) this.refuse(NOT_HTTP, req);
    // A body that waits in the socket could destroy the last answer when the socket is closed.
    if (this.#isStopped) return void req.resume();
    this.latest = response;
    response.once('close', this.#next);
    // Node drops what arrives together with an offer of another protocol: RFC 9110, section 7.8.
    const isOffer = req.headers.upgrade !== undefined && /\bupgrade\b/i.test(req.headers.connection ?? '');
    if (count === MAX_UNANSWERED || isOffer) this.announceEnd();
    if (count === 1) this.#handleFirst();
  }

  /**
   * Answers input after which nothing can be trusted: bytes that are not HTTP, a request that does not end in time, or
   * one that a proxy could read differently. The answer comes after those before it, and ends the connection.
   *
   * @param request absent if the input has no complete headers, or is the body of the latest request
   */
  refuse(refused: RequestRefused, request?: IncomingMessage): void {
    const { latest } = this;
    if (this.#broken !== undefined) return;
    if (latest?.req.complete === false) {
      this.#isStopped = true;
      this.#broken = refused;
      if (latest === this.#current) this.#refuseLatest();
    } else if (!this.#isStopped) {
      this.#isStopped = true;
      if (latest === undefined) this.#endWith(refused, request);
      else finished(latest, { readable: false }, () => this.#endWith(refused, request));
    }
  }

  /** The last answer that the client waits for, now or later, says that it is the last. */
  announceEnd(): void {
    this.#isEnding = true;
    if (this.#unanswered.length === 0 || this.latest?.headersSent !== false) return;
    this.latest.setHeader('Connection', 'close');
    this.#isStopped = true;
  }

  /** Ends the connection with an answer for which Node has no response. */
  #endWith(refused: RequestRefused, request: IncomingMessage | undefined): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    const requestId = requestIdOf(request);
    // Not a forwarded address: the headers may be those of a request that a client has smuggled past its proxy.
    const client = socket.remoteAddress;
    this.#service.log.answered({ requestId, method: request?.method, status: refused.status, client });
    // Destroying the socket while the client still sends could destroy the answer before the client reads it.
    socket.end(lastAnswer(refused, requestId), () => setTimeout(() => socket.destroy(), LINGER_MS).unref());
  }

  /** The application has the latest request, and may wait for its body: its own answer will come too late. */
  #refuseLatest(): void {
    const { latest } = this;
    finished(latest!, { readable: false }, () => this.#socket.end(() => this.#socket.destroy()));
    if (latest!.headersSent) return;
    const body = errorJson(this.#broken!);
    latest!.writeHead(this.#broken!.status, { 'Content-Length': body.length, Connection: 'close' }).end(body);
  }

  readonly #handleFirst = () => {
    const [response] = this.#unanswered;
    if (response === undefined || !this.#socket.writable) return;
    const isLatest = response === this.latest;
    if (isLatest && this.#isEnding) this.announceEnd();
    this.#current = response;
    this.#service.handle(response.req, response);
    if (isLatest && this.#broken !== undefined) this.#refuseLatest();
  };

  readonly #next = () => {
    this.#unanswered.shift();
    // The requests of other connections come in between.
    if (this.#unanswered.length > 0) setImmediate(this.#handleFirst);
  };
}
