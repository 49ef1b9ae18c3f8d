import * as v from 'valibot';
import { parse } from './parse.ts';

const REMEMBERED_QUERIES = 1_000;

/** Parses each valid query string once: see docs/explanation/a-request.md. Throws what {@link parse} throws. */
export function queryParser<S extends v.GenericSchema>(schema: S) {
  const parsed = new Map<string, Readonly<v.InferOutput<S>>>();
  return (querystring: string) => {
    let query = parsed.get(querystring);
    if (query === undefined) {
      query = parse(schema, parameters(querystring), 'query');
      if (parsed.size === REMEMBERED_QUERIES) parsed.clear();
      parsed.set(querystring, query);
    }
    return query;
  };
}

/** No schema accepts this value. */
const REPEATED = Symbol('repeated');

function parameters(querystring: string): Record<string, string | typeof REPEATED> {
  // Without a prototype, no name is special.
  const values = Object.create(null) as Record<string, string | typeof REPEATED>;
  // `getAll` for each name would take quadratic time. `URLSearchParams` drops the first `?`.
  for (const [name, value] of new URLSearchParams(`?${querystring}`)) {
    values[name] = name in values ? REPEATED : value;
  }
  return values;
}

const UNKNOWN = 'is not a parameter of this operation';

/** Naming all could make the answer much longer than the request. */
const MAX_NAMED = 10;

/** valibot reports only the first unknown key. Its message therefore names the others. */
const unknownAmong = (entries: v.ObjectEntries) => (issue: v.StrictObjectIssue) => {
  const names = Object.keys(issue.path?.[0]?.input ?? {}).filter((name) => !Object.hasOwn(entries, name));
  const further = names.slice(1, MAX_NAMED).map((name) => `${name} ${UNKNOWN}`);
  if (names.length > MAX_NAMED) further.push(`nor are ${names.length - MAX_NAMED} more`);
  return [UNKNOWN, ...further].join('; ');
};

export function strictQuery<E extends v.ObjectEntries>(entries: E) {
  return v.strictObject(entries, unknownAmong(entries));
}

export const NoQuery = strictQuery({});

/**
 * A version, and the last id that the client has seen, as an int64 in hex. Every text of this form is a valid cursor. A
 * cursor never expires.
 */
export const CURSOR_PATTERN = '^v1\\.[0-9a-f]{16}$';

const FORM = new RegExp(CURSOR_PATTERN);

export function encodeCursor(after: bigint): string {
  return `v1.${BigInt.asUintN(64, after).toString(16).padStart(16, '0')}`;
}

export function decodeCursor(cursor: string): bigint | undefined {
  return FORM.test(cursor) ? BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`)) : undefined;
}
