import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { MAX_REQUEST_ID_LENGTH } from './limits.ts';

/** The form of an id that is safe to log. */
export const REQUEST_ID_PATTERN = `^[A-Za-z0-9_.-]{1,${MAX_REQUEST_ID_LENGTH}}$`;

const ACCEPTED = new RegExp(REQUEST_ID_PATTERN);

const ID = Symbol('request id');

/**
 * The id of a request: the client's `X-Request-Id` if it is safe to log, otherwise a new one. Every call returns the
 * same id for a request with a body: the server may have to answer it while the application reads the body.
 */
export function requestIdOf(request: IncomingMessage & { [ID]?: string }): string {
  const known = request[ID];
  if (known !== undefined) return known;
  const { headers } = request;
  const id = acceptedRequestId(headers['x-request-id']);
  // Not stored for every request: that would slow down a list, and a WeakMap even more.
  if ((headers['content-length'] ?? headers['transfer-encoding']) !== undefined) request[ID] = id;
  return id;
}

/** The id that the client sent if it is safe to log, otherwise a new one. */
export function acceptedRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && ACCEPTED.test(header) ? header : randomUUID();
}
