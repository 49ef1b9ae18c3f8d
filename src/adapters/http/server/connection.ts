import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { finished } from 'node:stream';
import { errorJson, type RequestRefused } from '../contract/errors.ts';
import { NOT_HTTP } from '../contract/refusals.ts';
import { requestIdOf } from '../contract/request-id.ts';
import type { RequestLog } from '../contract/request-log.ts';
import { isAmbiguous, lastAnswer } from './broken-request.ts';

/** Includes the request in progress. */
const MAX_UNANSWERED_REQUESTS = 16;

/** An estimate: a short request was measured at 3 KiB. */
const REQUEST_BYTES = 4 * 1024;

/** How long a client may send after the answer to an invalid request. */
const LINGER_MS = 1_000;

type Service = { readonly handle: RequestListener; readonly log: Pick<RequestLog, 'answered'> };

/**
 * Handles the requests of a client's connection one at a time, in order: see docs/explanation/a-request.md. Ignores
 * requests after the request whose answer ends the connection (RFC 9112, section 9.6).
 */
export class Connection {
  readonly #socket: Socket;
  readonly #service: Service;
  /** The oldest response is first. Responses of ignored requests come last. */
  readonly #pendingResponses: ServerResponse[] = [];
  #lastHandledResponse: ServerResponse | undefined;
  /** The response of the latest request that is not ignored. `undefined` before the first request. */
  latestResponse: ServerResponse | undefined;
  #ignoresRequests = false;
  /** Whether the answer to the latest request ends the connection. */
  #isEnding = false;
  #latestBodyRefusal: RequestRefused | undefined;

  constructor(socket: Socket, service: Service) {
    this.#socket = socket;
    this.#service = service;
  }

  /** The memory of unread answers and parsed requests. */
  get heldBytes(): number {
    const { destroyed, writableLength } = this.#socket;
    const bodyBytes = this.#pendingResponses.reduce((sum, { req }) => sum + req.readableLength, 0);
    return destroyed ? 0 : writableLength + bodyBytes + REQUEST_BYTES * this.#pendingResponses.length;
  }

  accept(response: ServerResponse): void {
    const { req } = response;
    const count = this.#pendingResponses.push(response);
    if (!this.#ignoresRequests && isAmbiguous(req)) this.refuse(NOT_HTTP, req);
    // Drops the body, because closing a socket with unread bytes could destroy the last answer.
    if (this.#ignoresRequests) return void req.resume();
    this.latestResponse = response;
    response.once('close', this.#handleNext);
    // The client offers another protocol (RFC 9110, section 7.8). Node drops the bytes behind the offer.
    const isUpgrade = req.headers.upgrade !== undefined && /\bupgrade\b/i.test(req.headers.connection ?? '');
    if (count === MAX_UNANSWERED_REQUESTS || isUpgrade) this.announceEnd();
    if (count === 1) this.#handleFirst();
  }

  /**
   * Answers input after which the service trusts no further byte: see docs/explanation/a-request.md. The answer follows
   * the earlier answers, and ends the connection.
   *
   * @param request absent if the input is the body of the latest request, or has no complete headers
   */
  refuse(refusal: RequestRefused, request?: IncomingMessage): void {
    const { latestResponse } = this;
    if (this.#latestBodyRefusal !== undefined) return;
    if (latestResponse?.req.complete === false) {
      this.#ignoresRequests = true;
      this.#latestBodyRefusal = refusal;
      if (latestResponse === this.#lastHandledResponse) this.#refuseLatest();
    } else if (!this.#ignoresRequests) {
      this.#ignoresRequests = true;
      if (latestResponse === undefined) this.#endWith(refusal, request);
      else finished(latestResponse, { readable: false }, () => this.#endWith(refusal, request));
    }
  }

  /**
   * Sends `Connection: close` with the answer to the latest request or, if its headers are sent, with the next answer.
   */
  announceEnd(): void {
    this.#isEnding = true;
    if (this.#pendingResponses.length === 0 || this.latestResponse?.headersSent !== false) return;
    this.latestResponse.setHeader('Connection', 'close');
    this.#ignoresRequests = true;
  }

  #endWith(refusal: RequestRefused, request: IncomingMessage | undefined): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    const requestId = requestIdOf(request);
    // Uses no forwarded address, because the client could forge that address here.
    const client = socket.remoteAddress;
    this.#service.log.answered({ requestId, method: request?.method, status: refusal.status, client });
    socket.end(lastAnswer(refusal, requestId), () => setTimeout(() => socket.destroy(), LINGER_MS).unref());
  }

  /** Answers the latest request in place of the application, which may be waiting for the body. */
  #refuseLatest(): void {
    const [response, refusal] = [this.latestResponse!, this.#latestBodyRefusal!];
    finished(response, { readable: false }, () => this.#socket.end(() => this.#socket.destroy()));
    if (response.headersSent) return;
    const body = errorJson(refusal);
    response.writeHead(refusal.status, { 'Content-Length': body.length, Connection: 'close' }).end(body);
  }

  readonly #handleFirst = () => {
    const [response] = this.#pendingResponses;
    if (response === undefined || !this.#socket.writable) return;
    const isLatest = response === this.latestResponse;
    if (isLatest && this.#isEnding) this.announceEnd();
    this.#lastHandledResponse = response;
    this.#service.handle(response.req, response);
    if (isLatest && this.#latestBodyRefusal !== undefined) this.#refuseLatest();
  };

  readonly #handleNext = () => {
    this.#pendingResponses.shift();
    if (this.#pendingResponses.length > 0) setImmediate(this.#handleFirst);
  };
}
