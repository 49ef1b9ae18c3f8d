import type { GenericSchema, InferOutput } from 'valibot';
import { parse } from './schemas.ts';

/** Query strings that are remembered; a walk through the pages brings a new one with every request. */
const REMEMBERED = 1000;

/**
 * A parser of query strings. Clients send the same few again and again, so that each distinct one that is valid
 * is parsed once.
 */
export function queryParser<S extends GenericSchema>(
  schema: S,
): (querystring: string) => Readonly<InferOutput<S>> {
  const parsed = new Map<string, Readonly<InferOutput<S>>>();
  return (querystring) => {
    let query = parsed.get(querystring);
    if (query === undefined) {
      query = parse(schema, parameters(querystring), 'query');
      if (parsed.size === REMEMBERED) parsed.clear();
      parsed.set(querystring, query);
    }
    return query;
  };
}

/** Each parameter with its value, or with all its values when it is repeated. */
function parameters(querystring: string): Record<string, string | string[]> {
  // Without a prototype, so that no name is special.
  const values = Object.create(null) as Record<string, string | string[]>;
  const search = new URLSearchParams(querystring);
  for (const name of new Set(search.keys())) {
    const all = search.getAll(name);
    values[name] = all.length === 1 ? all[0]! : all;
  }
  return values;
}
