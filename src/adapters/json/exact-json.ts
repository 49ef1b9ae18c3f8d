import { isInt64, type Pet } from '../../domain/pet.ts';

declare global {
  interface JSON {
    // https://github.com/tc39/proposal-json-parse-with-source, in V8 but not yet in TypeScript's library.
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
    rawJSON(text: string): object;
  }
}

/**
 * Parses JSON text without losing a digit. A number that is mathematically an int64 (`7`, `1.0`, `1e3`) becomes a
 * `bigint`, any other number the nearest double.
 *
 * @throws {SyntaxError} when the text is not JSON
 * @throws {RangeError} when the text is nested too deeply
 */
export function parseJson(text: string): unknown {
  const value = parseNatively(text);
  if (!text.includes('\\')) return value;
  const plain = withPlainKeys(text);
  return plain === text ? value : parseNatively(plain);
}

/** Reads some keys with escapes as other keys: see {@link withPlainKeys}. */
function parseNatively(text: string): unknown {
  // A reviver is much slower.
  if (!NESTED_OR_INEXACT.test(text)) return withBigInts(JSON.parse(text));
  return JSON.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? (int64(source) ?? value) : value,
  );
}

const STRING = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?/g;

/**
 * Valid JSON without needless escapes in its keys. V8 reads `"\u0073tatus"` as `"\\u0073"` if an earlier text had that
 * key at its place, so one client could change what another one stores: https://github.com/nodejs/node/issues/63785.
 * Keys that need an escape, for a quotation mark, a backslash or a control character, can still be confused with each
 * other.
 */
function withPlainKeys(text: string): string {
  return text.replaceAll(STRING, (match, key: string, colon?: string) =>
    colon === undefined || !key.includes('\\') ? match : JSON.stringify(JSON.parse(key)) + colon,
  );
}

/**
 * Text without a match is flat: a `[` or `{` comes first or not at all. Its numbers are integers of at most 15 digits,
 * which a double holds exactly.
 */
const NESTED_OR_INEXACT = /.[[{]|\d(?:[.eE]|\d{15})/s;

/** Replaces the numbers in a flat value by `bigint`s. */
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

/** The value of a JSON number, or `undefined` when it is not an int64. */
function int64(source: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMBER.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0n;
  // The lookbehind keeps it linear where something follows many zeros: only the first one is tried.
  const significant = digits.replace(/(?<!0)0+$/, '');
  const zeros = digits.length - significant.length + Number(exponent) - fraction.length;
  // Every int64 fits into 19 digits. Checked before writing the zeros: `1e999999999` is a number too.
  if (zeros < 0 || significant.length + zeros > 19) return undefined;
  const value = BigInt(sign + significant + '0'.repeat(zeros));
  return isInt64(value) ? value : undefined;
}

/** A pet as a value for `JSON.stringify`, which then writes every digit of an int64. */
export function petJson({ id, name, categoryId, status }: Pet): Record<keyof Pet, unknown> {
  return { id: exactNumber(id), name, categoryId: exactNumber(categoryId), status };
}

/** A number where that is exact, because V8 writes it much faster. */
function exactNumber(value: bigint): number | object {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(String(value));
}
