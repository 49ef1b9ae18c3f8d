import fc from 'fast-check';
import { INT64_MAX, INT64_MIN } from '../../src/domain/pet.ts';
import { int64, text } from './arbitraries.ts';

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'00123456789'.split('')), maxLength });

/** Any JSON number, many of them near int64. */
export const numberText = fc.oneof(
  fc
    .tuple(
      fc.constantFrom('', '-'),
      digits(25),
      fc.option(digits(25)),
      fc.option(fc.integer({ min: -60, max: 60 })),
    )
    .map(([sign, whole, fraction, exponent]) => {
      const point = fraction === null ? '' : `.${fraction || '0'}`;
      const e = exponent === null ? '' : `e${exponent}`;
      return `${sign}${whole.replace(/^0+(?=\d)/, '') || '0'}${point}${e}`;
    }),
  // An int64 with its point moved.
  fc
    .tuple(int64, fc.bigInt({ min: -3n, max: 3n }), fc.nat(25), fc.constantFrom('e', 'E', 'e+'))
    .map(([value, off, shift, e]) => {
      const [, sign = '', whole = ''] = /^(-?)(\d+)$/.exec(String(value + off)) ?? [];
      const padded = whole.padStart(shift + 1, '0');
      const point = shift === 0 ? '' : `.${padded.slice(-shift)}`;
      return `${sign}${padded.slice(0, -shift || undefined)}${point}${e}${shift}`;
    }),
  fc.tuple(int64, fc.nat(25)).map(([value, zeros]) => `${value * 10n ** BigInt(zeros)}e-${zeros}`),
);

/** The value of a JSON number as a fraction, in the arithmetic of school. */
export function exactValue(source: string): bigint | number {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const power = Number(exponent) - fraction.length;
  const [numerator, denominator] = [
    BigInt(whole + fraction) * 10n ** BigInt(Math.max(power, 0)),
    10n ** BigInt(Math.max(-power, 0)),
  ];
  const value = numerator / denominator;
  const isExact = value * denominator === numerator && value >= INT64_MIN && value <= INT64_MAX;
  return isExact ? value : Number(source);
}

/** A JSON value, and one of the texts that spell it. */
export type Spelled = { readonly json: string; readonly value: unknown };

/** White space between tokens. */
export const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });

/** Spells a string. Each bit decides whether a character is escaped. Lone surrogates are: no encoding can hold them. */
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

/** V8 can take other keys for each other: see `parse-json.ts`. No field of a pet has such a name. */
export const spelledKey = spelledString.filter(({ value }) => !JSON.stringify(value).includes('\\'));

const spelledScalar: fc.Arbitrary<Spelled> = fc.oneof(
  numberText.map((json) => ({ json, value: exactValue(json) })),
  // As most numbers are, which takes the short way.
  fc.integer().map((n) => ({ json: String(n), value: BigInt(n) })),
  spelledString,
  fc.constantFrom(true, false, null).map((value) => ({ json: String(value), value })),
);

export const { value: spelledValue } = fc.letrec<{ value: Spelled; list: Spelled; fields: Spelled }>(
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
        // Of a repeated key, the last value.
        value: Object.fromEntries(entries.map(([key, { value }]) => [key.value, value])),
      })),
  }),
);
