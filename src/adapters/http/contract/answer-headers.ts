import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { WhilePetsNeverChange } from '../../../application/ports/pets-never-change.ts';
import type { Allowance } from '../../../application/ports/rate-limiter.ts';
import type { RateLimit } from '../../../domain/api-key.ts';
import { MAX_REQUEST_ID_LENGTH } from './limits.ts';

/** Header fields by name. */
export type Headers = Readonly<Record<string, string>>;

/** The value of `Strict-Transport-Security`, in seconds: RFC 6797, section 6.1. Subdomains may be other services. */
export const A_YEAR = 'max-age=31536000';

/** The headers of every answer, unless its route says otherwise. */
export function answerHeaders(requestId: string) {
  return {
    'X-Request-Id': requestId,
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
  } as const;
}

/** The form of a request id that is safe to log. */
export const REQUEST_ID_PATTERN = `^[A-Za-z0-9_.-]{1,${MAX_REQUEST_ID_LENGTH}}$`;

const ACCEPTED = new RegExp(REQUEST_ID_PATTERN);

/** The id of a request: the client's `X-Request-Id` if it is safe to log, otherwise a new one. */
export function requestIdOf(request: IncomingMessage | undefined): string {
  const sent = request?.headers['x-request-id'];
  return typeof sent === 'string' && ACCEPTED.test(sent) ? sent : randomUUID();
}

/** The value of `RateLimit-Policy`: draft-ietf-httpapi-ratelimit-headers-11, section 3. */
export function rateLimitPolicy({ requests, seconds }: RateLimit): string {
  return `"key";q=${requests};w=${seconds}`;
}

/** The value of `RateLimit`: draft-ietf-httpapi-ratelimit-headers-11, section 4. */
export function rateLimitLeft({ remaining, resetSeconds }: Omit<Allowance, 'allowed'>): string {
  return `"key";r=${remaining};t=${resetSeconds}`;
}

/** The deprecation of an operation. */
export type Deprecation = {
  readonly since: Date;
  /** The instant from which the operation is gone, the first of a day. */
  readonly sunset: Date;
  /** What to use instead: method and path. */
  readonly replacement: string;
};

/** The days are public: `CHANGELOG.md` names them. From the sunset on, no operation has the path of a pet. */
export const GET_PET_DEPRECATION: WhilePetsNeverChange<Deprecation> = {
  since: new Date('2026-11-20'),
  sunset: new Date('2030-12-05'),
  replacement: 'GET /v1/pets',
};

/** RFC 9745, in seconds since 1970, and RFC 8594. */
export function deprecationHeaders({ since, sunset }: Deprecation) {
  return { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString() };
}

/** The first day without the operation, as `2030-12-05`. */
export function sunsetDay({ sunset }: Deprecation): string {
  return sunset.toISOString().slice(0, 10);
}

export function isSunset({ sunset }: Deprecation, now: Date): boolean {
  return now.getTime() >= sunset.getTime();
}
