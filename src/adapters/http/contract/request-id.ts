import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** A request id of this form is safe to log. */
export const REQUEST_ID_PATTERN = '^[A-Za-z0-9_.-]{1,64}$';

const VALID_ID = new RegExp(REQUEST_ID_PATTERN);

export function requestIdOf(request: IncomingMessage | undefined): string {
  const headerValue = request?.headers['x-request-id'];
  return typeof headerValue === 'string' && VALID_ID.test(headerValue) ? headerValue : randomUUID();
}
