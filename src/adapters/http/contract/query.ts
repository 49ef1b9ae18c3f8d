import * as v from 'valibot';
import { parse } from './parse.ts';

const MAX_CACHED_QUERIES = 1_000;

/** The parser remembers valid queries: see docs/explanation/a-request.md. It throws what {@link parse} throws. */
export function queryParser<S extends v.GenericSchema>(schema: S) {
  const parsedQueries = new Map<string, Readonly<v.InferOutput<S>>>();
  return (querystring: string) => {
    let query = parsedQueries.get(querystring);
    if (query === undefined) {
      query = parse(schema, parameters(querystring), 'query');
      if (parsedQueries.size === MAX_CACHED_QUERIES) parsedQueries.clear();
      parsedQueries.set(querystring, query);
    }
    return query;
  };
}

/** No schema accepts this value, so a repeated parameter is refused. */
const REPEATED = Symbol('repeated');

function parameters(querystring: string): Record<string, string | typeof REPEATED> {
  // Without a prototype, a name such as `__proto__` is not special.
  const values = Object.create(null) as Record<string, string | typeof REPEATED>;
  // `getAll` for each name would take quadratic time. `URLSearchParams` drops only the added `?`.
  for (const [name, value] of new URLSearchParams(`?${querystring}`)) {
    values[name] = name in values ? REPEATED : value;
  }
  return values;
}

const NOT_A_PARAMETER = 'is not a parameter of this operation';

/** Without this limit, the answer could be much longer than the request. */
const MAX_NAMES = 10;

/** valibot reports only the first unknown parameter, so its message names the other unknown parameters. */
const unknownParametersMessage = (entries: v.ObjectEntries) => (issue: v.StrictObjectIssue) => {
  const names = Object.keys(issue.path?.[0]?.input ?? {}).filter((name) => !Object.hasOwn(entries, name));
  const further = names.slice(1, MAX_NAMES).map((name) => `${name} ${NOT_A_PARAMETER}`);
  if (names.length > MAX_NAMES) further.push(`nor are ${names.length - MAX_NAMES} more`);
  return [NOT_A_PARAMETER, ...further].join('; ');
};

export function strictQuery<E extends v.ObjectEntries>(entries: E) {
  return v.strictObject(entries, unknownParametersMessage(entries));
}

export const NoQuery = strictQuery({});

/**
 * A cursor has a version and, in hex, the last id that the client has seen (an int64). Every text of this form is a
 * valid cursor, and a cursor never expires.
 */
export const CURSOR_PATTERN = '^v1\\.[0-9a-f]{16}$';

const CURSOR_FORM = new RegExp(CURSOR_PATTERN);

export function encodeCursor(lastId: bigint): string {
  return `v1.${BigInt.asUintN(64, lastId).toString(16).padStart(16, '0')}`;
}

export function decodeCursor(cursor: string): bigint | undefined {
  return CURSOR_FORM.test(cursor) ? BigInt.asIntN(64, BigInt(`0x${cursor.slice('v1.'.length)}`)) : undefined;
}
