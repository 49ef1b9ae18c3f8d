import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const ACCEPTED = /^[\w.-]{1,64}$/;

const ID = Symbol('request id');

/**
 * The id of a request: the client's `X-Request-Id` if it is safe to log, otherwise a new one. For a request with a body
 * the id stays the same when asked again: while the application reads the body, the server may have to answer.
 */
export function requestIdOf(request: IncomingMessage & { [ID]?: string }): string {
  const known = request[ID];
  if (known !== undefined) return known;
  const { headers } = request;
  const id = acceptedRequestId(headers['x-request-id']);
  // Not for every request: that takes 2 % more CPU for a list, and a WeakMap 7 %.
  if ((headers['content-length'] ?? headers['transfer-encoding']) !== undefined) request[ID] = id;
  return id;
}

/** The id that the client sent if it is safe to log, otherwise a new one. */
export function acceptedRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && ACCEPTED.test(header) ? header : randomUUID();
}
