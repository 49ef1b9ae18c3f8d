import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream';
import { errorJson, type RequestRefused } from '../contract/errors.ts';
import { NOT_HTTP } from '../contract/refusals.ts';
import { requestIdOf } from '../contract/request-id.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { isAmbiguous, lastAnswer } from './broken-request.ts';

/** The number includes the request in progress. */
const MAX_UNANSWERED = 16;

/** An estimate. A short request was measured at 3 KiB. */
const REQUEST_BYTES = 4 * 1024;

/** How long a client may send after the answer to input that is not a request, in milliseconds. */
const LINGER_MS = 1_000;

type Service = { readonly handle: RequestListener; readonly log: Pick<RequestLog, 'answered'> };

/**
 * Handles the requests of a client's connection one at a time, in their order: see docs/explanation/a-request.md.
 * Requests after the last answered request are ignored (RFC 9112, section 9.6).
 */
export class Connection {
  readonly #socket: Socket;
  readonly #service: Service;
  /** The parsed requests without an answer, oldest first. The first is in progress. Ignored requests come last. */
  readonly #unanswered: ServerResponse[] = [];
  /** The response that was last passed to the application. */
  #current: ServerResponse | undefined;
  /** The response of the latest request that is not ignored. `undefined` before the first request. */
  latest: ServerResponse | undefined;
  /** Further requests are ignored. */
  #isStopped = false;
  /** The answer to the latest request ends the connection. */
  #isEnding = false;
  /** Why the body of the latest request cannot be read. */
  #broken: RequestRefused | undefined;

  constructor(socket: Socket, service: Service) {
    this.#socket = socket;
    this.#service = service;
  }

  /** The client's unread answers and its parsed requests. */
  get heldBytes(): number {
    const { destroyed, writableLength } = this.#socket;
    const bodyBytes = this.#unanswered.reduce((sum, { req }) => sum + req.readableLength, 0);
    return destroyed ? 0 : writableLength + bodyBytes + REQUEST_BYTES * this.#unanswered.length;
  }

  accept(response: ServerResponse): void {
    const { req } = response;
    const count = this.#unanswered.push(response);
    if (!this.#isStopped && isAmbiguous(req)) this.refuse(NOT_HTTP, req);
    // Closing a socket with unread bytes could destroy the last answer.
    if (this.#isStopped) return void req.resume();
    this.latest = response;
    response.once('close', this.#next);
    // The client offers another protocol: RFC 9110, section 7.8.
    const isOffer = req.headers.upgrade !== undefined && /\bupgrade\b/i.test(req.headers.connection ?? '');
    if (count === MAX_UNANSWERED || isOffer) this.announceEnd();
    if (count === 1) this.#handleFirst();
  }

  /**
   * Answers input after which no byte is trusted: see docs/explanation/a-request.md. The answer follows the earlier
   * answers, and ends the connection.
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

  /** Sends `Connection: close` with the answer to the latest request, now or later. */
  announceEnd(): void {
    this.#isEnding = true;
    if (this.#unanswered.length === 0 || this.latest?.headersSent !== false) return;
    this.latest.setHeader('Connection', 'close');
    this.#isStopped = true;
  }

  #endWith(refused: RequestRefused, request: IncomingMessage | undefined): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    const requestId = requestIdOf(request);
    // Not a forwarded address, which the client could forge here.
    const client = socket.remoteAddress;
    this.#service.log.answered({ requestId, method: request?.method, status: refused.status, client });
    socket.end(lastAnswer(refused, requestId), () => setTimeout(() => socket.destroy(), LINGER_MS).unref());
  }

  /** The application may wait for the body of the latest request: its own answer would be too late. */
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
    if (this.#unanswered.length > 0) setImmediate(this.#handleFirst);
  };
}
