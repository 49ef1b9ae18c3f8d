import { type RateLimit, RATE_LIMIT_MAX_REQUESTS, RATE_LIMIT_MAX_SECONDS } from '../../domain/api-key.ts';
import { parseDurationMs } from './duration.ts';

/** The form of a rate limit. Completes a sentence that begins with the name of the variable or option. */
export const RATE_LIMIT_FORM =
  `must be requests/time, such as 600/60s or 10000/1h: 1 to ${RATE_LIMIT_MAX_REQUESTS} requests in whole seconds, ` +
  'minutes or hours up to 24h';

/** `undefined` for a text of any other form than {@link RATE_LIMIT_FORM}. */
export function parseRateLimit(text: string): RateLimit | undefined {
  const [, digits, time = ''] = /^([1-9]\d{0,9})\/(\d+[smh])$/.exec(text) ?? [];
  const requests = Number(digits);
  const seconds = (parseDurationMs(time) ?? 0) / 1000;
  const isAllowed = requests <= RATE_LIMIT_MAX_REQUESTS && seconds >= 1 && seconds <= RATE_LIMIT_MAX_SECONDS;
  return isAllowed ? { requests, seconds } : undefined;
}

export function rateLimitText({ requests, seconds }: RateLimit): string {
  return `${requests}/${seconds}s`;
}
