import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request id of this form is safe to log. */
export const REQUEST_ID_PATTERN = '^[A-Za-z0-9_.-]{1,64}$';

const ACCEPTED = new RegExp(REQUEST_ID_PATTERN);

/** The client's valid `X-Request-Id`, otherwise a new id. */
export function requestIdOf(request: IncomingMessage | undefined): string {
  const sent = request?.headers['x-request-id'];
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : randomUUID();
}
