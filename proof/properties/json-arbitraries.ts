import fc from 'fast-check';
import { INT64_MAX, INT64_MIN } from '../../src/domain/pet.ts';
import { int64, text } from './arbitraries.ts';

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'00123456789'.split('')), maxLength });

/** Any JSON number. Many of the numbers are near a limit of int64 or in its range. */
export const numberText = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('', '-'),
      digits(25),
      fc.option(digits(25)),
      fc.option(fc.integer({ min: -60, max: 60 })),
    )
    .map(([sign, wholeDigits, fraction, exponent]) => {
      const point = fraction === null ? '' : `.${fraction || '0'}`;
      const e = exponent === null ? '' : `e${exponent}`;
      return `${sign}${wholeDigits.replace(/^0+(?=\d)/, '') || '0'}${point}${e}`;
    }),
  // An int64, or a number near it, that is written with an exponent: 5 as 0.05e2.
  fc
    .tuple(int64, fc.bigInt({ min: -3n, max: 3n }), fc.nat(25), fc.constantFrom('e', 'E', 'e+'))
    .map(([value, distance, shift, e]) => {
      const [, sign = '', wholeDigits = ''] = /^(-?)(\d+)$/.exec(String(value + distance)) ?? [];
      const paddedDigits = wholeDigits.padStart(shift + 1, '0');
      const point = shift === 0 ? '' : `.${paddedDigits.slice(-shift)}`;
      return `${sign}${paddedDigits.slice(0, -shift || undefined)}${point}${e}${shift}`;
    }),
  fc.tuple(int64, fc.nat(25)).map(([value, zeros]) => `${value * 10n ** BigInt(zeros)}e-${zeros}`),
);

/**
 * The value that the service must read from a JSON number. The value is calculated as a fraction, independently of the
 * service: a `bigint` for a whole number in the range of int64, or else the nearest `number`.
 */
export function exactValue(source: string): bigint | number {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e');
  const [wholeDigits = '', fraction = ''] = mantissa.split('.');
  const power = Number(exponent) - fraction.length;
  const [numerator, denominator] = [
    BigInt(wholeDigits + fraction) * 10n ** BigInt(Math.max(power, 0)),
    10n ** BigInt(Math.max(-power, 0)),
  ];
  const value = numerator / denominator;
  const isInt64 = value * denominator === numerator && value >= INT64_MIN && value <= INT64_MAX;
  return isInt64 ? value : Number(source);
}

/** A value, and one of the JSON texts of the value. */
export type JsonSample = { readonly json: string; readonly value: unknown };

/** White space between tokens. */
export const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });

/**
 * Writes a string as JSON. Each bit of `bits` decides whether a character is escaped. A lone surrogate is always
 * escaped, because UTF-8 cannot express it.
 */
export function spell(value: string, bits: number): string {
  const characters = Array.from(value, (character, at) =>
    ((bits >> (at % 31)) & 1) === 1
      ? character
          .split('')
          .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
          .join('')
      : JSON.stringify(character).slice(1, -1),
  );
  return `"${characters.join('')}"`;
}

const spelledString = fc
  .tuple(fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '', '0', '1', '10')), fc.nat())
  .map(([value, bits]) => ({ json: spell(value, bits), value }));

/**
 * A key whose JSON needs no escape. V8 can confuse two other keys: see `exact-json.ts`. That has no effect on the
 * service, because no field of a pet has such a name.
 */
export const spelledKey = spelledString.filter(({ value }) => !JSON.stringify(value).includes('\\'));

const spelledScalar: fc.Arbitrary<JsonSample> = fc.oneof(
  numberText.map((json) => ({ json, value: exactValue(json) })),
  // A plain integer, as most numbers are. The parser reads it in a shorter way.
  fc.integer().map((n) => ({ json: String(n), value: BigInt(n) })),
  spelledString,
  fc.constantFrom(true, false, null).map((value) => ({ json: String(value), value })),
);

export const { value: spelledValue } = fc.letrec<{ value: JsonSample; list: JsonSample; fields: JsonSample }>(
  (tie) => ({
    value: fc.oneof({ maxDepth: 4 }, { weight: 3, arbitrary: spelledScalar }, tie('list'), tie('fields')),
    list: fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([items, gap]) => ({
      json: `[${gap}${items.map(({ json }) => json).join(`${gap},${gap}`)}${gap}]`,
      value: items.map(({ value }) => value),
    })),
    fields: fc
      .tuple(fc.array(fc.tuple(spelledKey, tie('value')), { maxLength: 4 }), space)
      .map(([entries, gap]) => ({
        json: `{${gap}${entries.map(([key, { json }]) => `${key.json}${gap}:${gap}${json}`).join(`,${gap}`)}${gap}}`,
        // The last value of a repeated key counts.
        value: Object.fromEntries(entries.map(([key, { value }]) => [key.value, value])),
      })),
  }),
);
