import { isInt64, type Pet } from '../../domain/pet.ts';

declare global {
  interface JSON {
    // V8 has this API, TypeScript's library does not yet: https://github.com/tc39/proposal-json-parse-with-source
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
  }
}

/**
 * A number that is mathematically an int64 (`7`, `1.0`, `1e3`) becomes a `bigint`, and any other number becomes the
 * nearest double.
 *
 * @throws {SyntaxError} if the text is not JSON
 * @throws {RangeError} if the text is nested too deeply
 */
export function parseJson(text: string): unknown {
  const value = parseNatively(text);
  if (!text.includes('\\')) return value;
  const plain = withPlainKeys(text);
  return plain === text ? value : parseNatively(plain);
}

/** May confuse keys that have escapes: see {@link withPlainKeys}. */
function parseNatively(text: string): unknown {
  // A function per value (a reviver) is much slower.
  if (!NESTED_OR_INEXACT.test(text)) return withBigInts(JSON.parse(text));
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? (int64(source) ?? value) : value,
  );
}

const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?/g;

/**
 * Removes needless escapes from keys. V8 can confuse `"\u0073tatus"` with a key of an earlier text: see
 * docs/explanation/a-request.md.
 */
function withPlainKeys(text: string): string {
  return text.replaceAll(STRING, (match, key: string, colon?: string) =>
    colon === undefined || !key.includes('\\') ? match : JSON.stringify(JSON.parse(key)) + colon,
  );
}

/** A text without a match has no nesting, and only integers of at most 15 digits, which a double holds exactly. */
const NESTED_OR_INEXACT = /.[[{]|\d(?:[.eE]|\d{15})/s;

function withBigInts(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Record<string, unknown>;
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (typeof field === 'number') fields[key] = BigInt(field);
  }
  return value;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

function int64(source: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // With the lookbehind, a match starts only at the first of many zeros, so the time is linear.
  const significant = digits.replace(/(?<!0)0+$/, '');
  const zeros = digits.length - significant.length + Number(exponent) - fraction.length;
  // An int64 has at most 19 digits. Checked before `repeat`, for numbers such as `1e999999999`.
  if (zeros < 0 || significant.length + zeros > 19) return undefined;
  const value = BigInt(sign + significant + '0'.repeat(zeros));
  return isInt64(value) ? value : undefined;
}

/** `JSON.stringify` of the result writes every digit of an int64. */
export function petJson({ id, name, categoryId, status }: Pet): Record<keyof Pet, unknown> {
  return { id: exactNumber(id), name, categoryId: exactNumber(categoryId), status };
}

/** V8 writes a number much faster than a `rawJSON` object. */
function exactNumber(value: bigint): number | object {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(String(value));
}
