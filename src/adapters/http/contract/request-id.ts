import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** The form of a request id that is safe to log. */
export const REQUEST_ID_PATTERN = '^[A-Za-z0-9_.-]{1,64}$';

const ACCEPTED = new RegExp(REQUEST_ID_PATTERN);

/** The id of a request: the client's `X-Request-Id` if it is safe to log, otherwise a new one. */
export function requestIdOf(request: IncomingMessage | undefined): string {
  const sent = request?.headers['x-request-id'];
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : randomUUID();
}
