import { randomUUID } from 'node:crypto';

const ACCEPTED = /^[\w.-]{1,64}$/;

/** The request id that the client sent, or a new one when it sent none that is fit for a log. */
export function acceptedRequestId(header: string | string[] | undefined): string {
  return typeof header === 'string' && ACCEPTED.test(header) ? header : randomUUID();
}
