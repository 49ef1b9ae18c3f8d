import * as v from 'valibot';
import { parse } from './parse.ts';

/** How many query strings are remembered. A walk through the pages brings a new one with every request. */
const REMEMBERED_QUERIES = 1_000;

/**
 * A parser of query strings. It throws what {@link parse} throws. Clients repeat a few query strings, so a valid one is
 * parsed once.
 */
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

/** Stands for the values of a repeated parameter. No schema accepts it. */
const REPEATED = Symbol('repeated');

/** Each parameter with its value. */
function parameters(querystring: string): Record<string, string | typeof REPEATED> {
  // Without a prototype, so no name is special.
  const values = Object.create(null) as Record<string, string | typeof REPEATED>;
  // One step a parameter: `getAll` for each name takes quadratic time for many names.
  // It drops a question mark at the beginning. Another one is part of a name.
  for (const [name, value] of new URLSearchParams(`?${querystring}`)) {
    values[name] = name in values ? REPEATED : value;
  }
  return values;
}

const UNKNOWN = 'is not a parameter of this operation';

/** How many unknown parameters the message names. Naming all could make the answer much longer than the request. */
const MAX_NAMED = 10;

/** valibot reports only the first unknown key of a strict object, so its message names the others too. */
const unknownAmong = (entries: v.ObjectEntries) => (issue: v.StrictObjectIssue) => {
  const names = Object.keys(issue.path?.[0]?.input ?? {}).filter((name) => !Object.hasOwn(entries, name));
  const further = names.slice(1, MAX_NAMED).map((name) => `${name} ${UNKNOWN}`);
  if (names.length > MAX_NAMED) further.push(`nor are ${names.length - MAX_NAMED} more`);
  return [UNKNOWN, ...further].join('; ');
};

/** A schema for the query parameters of an operation. It refuses any other. */
export function strictQuery<E extends v.ObjectEntries>(entries: E) {
  return v.strictObject(entries, unknownAmong(entries));
}

/** An operation without query parameters. */
export const NoQuery = strictQuery({});

/**
 * The form of a cursor: a version, which leaves room for other forms, and the last id that the client has seen, as an
 * int64 in hex. Every text of this form is a valid cursor. Opaque to clients. Never expires.
 */
export const CURSOR_PATTERN = '^v1\\.[0-9a-f]{16}$';

const FORM = new RegExp(CURSOR_PATTERN);

/** The cursor of the page that begins after this id. */
export function encodeCursor(after: bigint): string {
  return `v1.${BigInt.asUintN(64, after).toString(16).padStart(16, '0')}`;
}

/** The id in a cursor, or `undefined` when the form is wrong. */
export function decodeCursor(cursor: string): bigint | undefined {
  return FORM.test(cursor) ? BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`)) : undefined;
}
