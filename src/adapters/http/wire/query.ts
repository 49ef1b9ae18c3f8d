import type { GenericSchema, InferOutput } from 'valibot';
import { parse } from './schemas.ts';

/** How many query strings are remembered. A walk through the pages brings a new one with every request. */
const REMEMBERED_QUERIES = 1_000;

/**
 * A parser of query strings. It throws what {@link parse} throws. Clients repeat a few query strings, so a valid one is
 * parsed once.
 */
export function queryParser<S extends GenericSchema>(
  schema: S,
): (querystring: string) => Readonly<InferOutput<S>> {
  const parsed = new Map<string, Readonly<InferOutput<S>>>();
  return (querystring) => {
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
