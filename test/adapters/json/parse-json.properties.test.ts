import fc from 'fast-check';
import { expect, it } from 'vitest';
import { jsonErrorPlace } from '../../../src/adapters/json/json-error-place.ts';
import { parseJson } from '../../../src/adapters/json/parse-json.ts';
import { petJson } from '../../../src/adapters/json/pet-json.ts';
import { INT64_MAX, INT64_MIN } from '../../../src/domain/int64.ts';
import { aNewPet, int64, text } from '../../properties/arbitraries.ts';
import { holds } from '../../properties/holds.ts';

const digits = (maxLength: number) => fc.string({ unit: fc.constantFrom(...'00123456789'), maxLength });

/** Any JSON number, many of them near int64. */
const numberText = fc.oneof(
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
      return `${sign}${padded.slice(0, -shift || undefined)}${shift === 0 ? '' : `.${padded.slice(-shift)}`}${e}${shift}`;
    }),
  fc.tuple(int64, fc.nat(25)).map(([value, zeros]) => `${value * 10n ** BigInt(zeros)}e-${zeros}`),
);

/** The value of a JSON number as a fraction, in the arithmetic of school. */
function expected(source: string): bigint | number {
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

type Spelled = { readonly json: string; readonly value: unknown };

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });

/** A string in one of its spellings: any character may be escaped. */
const spelledString = fc
  .tuple(fc.oneof(text, fc.constantFrom('__proto__', 'constructor', '', '0', '1', '10')), fc.nat())
  .map(([value, coins]): Spelled & { readonly value: string } => {
    const json = value.split('').map((unit, at) => {
      const isEscaped = ((coins >> (at % 31)) & 1) === 1;
      return isEscaped
        ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
        : JSON.stringify(unit).slice(1, -1);
    });
    return { json: `"${json.join('')}"`, value };
  });

/** V8 can take other keys for each other: see `parse-json.ts`. No field of a pet has such a name. */
const spelledKey = spelledString.filter(({ value }) => !JSON.stringify(value).includes('\\'));

const spelledScalar: fc.Arbitrary<Spelled> = fc.oneof(
  numberText.map((json) => ({ json, value: expected(json) })),
  // As most numbers are, which takes the short way.
  fc.integer().map((n) => ({ json: String(n), value: BigInt(n) })),
  spelledString,
  fc.constantFrom(true, false, null).map((value) => ({ json: String(value), value })),
);

const { value: spelled } = fc.letrec<{ value: Spelled; list: Spelled; fields: Spelled }>((tie) => ({
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
}));

it('gives every number that is an int64 as a bigint, and any other as the nearest double', async () => {
  await holds(
    fc.property(numberText, (source) => {
      expect(parseJson(source)).toBe(expected(source));
    }),
    2_000,
  );
});

it('gives the value that JSON text spells, however it is spelled', async () => {
  await holds(
    fc.property(fc.tuple(space, spelled, space), ([before, { json, value }, after]) => {
      expect(exactly(parseJson(before + json + after))).toBe(exactly(value));
    }),
    1_500,
  );
});

it('refuses the text that JSON.parse refuses, and names a place in it', async () => {
  const damaged = fc
    .tuple(spelled, fc.nat(), fc.constantFrom('', ...'{}[]",:\\-+.e0tn \u0000\u00e9'))
    .map(([{ json }, at, mark]) => {
      const place = at % (json.length + 1);
      return json.slice(0, place) + mark + json.slice(place + (mark === '' ? 1 : at % 2));
    });
  await holds(
    fc.property(damaged, (json) => {
      const refusal = refusalOf(() => JSON.parse(json));
      expect(refusalOf(() => parseJson(json))?.message).toBe(refusal?.message);
      if (refusal === undefined) return;
      const { line, column } = jsonErrorPlace(json, refusal);
      const lines = json.split('\n');
      expect(line >= 1 && line <= lines.length).toBe(true);
      expect(column >= 1 && column <= lines[line - 1]!.length + 1).toBe(true);
    }),
    1_500,
  );
});

it('gives the pet back that petJson wrote', async () => {
  await holds(
    fc.property(aNewPet, int64, (draft, id) => {
      const pet = { ...draft, id };
      expect(parseJson(JSON.stringify(petJson(pet)))).toStrictEqual(pet);
    }),
    500,
  );
});

/** A text that differs for every value. `toStrictEqual` is misled by fields that are called constructor. */
function exactly(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' ? part : `${typeof part} ${Object.is(part, -0) ? '-0' : String(part)}`,
  );
}

function refusalOf(parse: () => unknown): SyntaxError | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return error;
    throw error;
  }
}
