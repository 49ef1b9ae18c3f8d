import { type RateLimit, RATE_LIMIT_MAX } from '../../domain/rate-limit.ts';
import { Refused, type Row } from './rows.ts';

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const DURATION = /^(0|[1-9]\d{0,6})(ms|s|m|h|d)$/;

/** Parses a duration such as `500ms`, `25s`, `2m`, `24h` or `365d`. */
export function parseDurationMs(text: string): number | undefined {
  const [, digits, unit] = DURATION.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * UNITS[unit as keyof typeof UNITS];
}

/** Messages have this text after the name of a variable or option. */
export const RATE_LIMIT_FORM =
  `must be requests/time, such as 600/60s or 10000/1h: 1 to ${RATE_LIMIT_MAX.requests} requests in whole seconds, ` +
  'minutes or hours up to 24h';

export function parseRateLimit(text: string): RateLimit | undefined {
  const [, digits, time = ''] = /^([1-9]\d{0,9})\/(\d+[smh])$/.exec(text) ?? [];
  const requests = Number(digits);
  const seconds = (parseDurationMs(time) ?? 0) / 1000;
  const isAllowed = requests <= RATE_LIMIT_MAX.requests && seconds >= 1 && seconds <= RATE_LIMIT_MAX.seconds;
  return isAllowed ? { requests, seconds } : undefined;
}

/** @param valueOf returns `undefined` for a text that breaks the rule */
export function makeParser<V>(rule: string, valueOf: (text: string) => V | undefined): Row<V>['parse'] {
  return (text) => {
    const value = valueOf(text);
    if (value === undefined) throw new Refused(rule);
    return value;
  };
}

export function oneOf<const V extends string>(
  values: readonly V[],
  rule = `must be one of ${values.join(', ')}`,
): Row<V>['parse'] {
  return makeParser(rule, (text) => values.find((value) => value === text));
}

/** Accepts only decimal digits without leading zeros. */
export function integer(min: number, max: number): Row<number>['parse'] {
  return makeParser(`must be an integer from ${min} to ${max}`, (text) => {
    const value = Number(text);
    return /^(?:0|[1-9]\d{0,9})$/.test(text) && value >= min && value <= max ? value : undefined;
  });
}

export function commaSeparated(text: string): readonly string[] {
  return text.split(',').map((item) => item.trim());
}

export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
