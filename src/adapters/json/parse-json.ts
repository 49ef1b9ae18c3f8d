import { isInt64 } from '../../domain/int64.ts';

declare global {
  interface JSON {
    // https://github.com/tc39/proposal-json-parse-with-source, in V8 and not yet in TypeScript's library.
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

/**
 * Parses JSON text without losing a digit: a number that is mathematically an integer in the range of int64
 * (`7`, `1.0`, `1e3`) comes as a `bigint`, any other number as the nearest double.
 *
 * @throws {SyntaxError} when it is not JSON
 * @throws {RangeError} when it is nested too deeply
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? (int64(source) ?? value) : value,
  );
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The integer that a JSON number denotes, or `undefined` when it is none or outside int64. */
function int64(source: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  const significant = digits.slice(0, lengthWithoutZeros(digits));
  const zeros = digits.length - significant.length + Number(exponent) - fraction.length;
  // 19 digits hold every int64; the check comes before the zeros are written, because `1e999999999` is a number too.
  if (zeros < 0 || significant.length + zeros > 19) return undefined;
  const value = BigInt(sign + significant + '0'.repeat(zeros));
  return isInt64(value) ? value : undefined;
}

// Not /0+$/, which takes quadratic time for zeros that something follows.
function lengthWithoutZeros(digits: string): number {
  let length = digits.length;
  while (digits[length - 1] === '0') length--;
  return length;
}
