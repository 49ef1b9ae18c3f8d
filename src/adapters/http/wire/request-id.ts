import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const ACCEPTED = /^[\w.-]{1,64}$/;

/** The ids in use. The server may answer a request that the application has already identified. */
const ids = new WeakMap<IncomingMessage, string>();

/** The id of a request: the client's `X-Request-Id` if it is safe to log, otherwise a new one. Stable per request. */
export function requestIdOf(request: IncomingMessage): string {
  let id = ids.get(request);
  if (id === undefined) {
    id = acceptedRequestId(request.headers['x-request-id']);
    ids.set(request, id);
  }
  return id;
}

/** The id that the client sent if it is safe to log, otherwise a new one. */
export function acceptedRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && ACCEPTED.test(header) ? header : randomUUID();
}
