import type { GenericSchema, InferOutput } from 'valibot';
import { parse } from './schemas.ts';

/** A parser of query strings. It throws what {@link parse} throws. */
export function queryParser<S extends GenericSchema>(
  schema: S,
): (querystring: string) => Readonly<InferOutput<S>> {
  // Most requests have no query. Parsing it each time would take 1 % of a list.
  const empty = parse(schema, {}, 'query');
  return (querystring) => (querystring === '' ? empty : parse(schema, parameters(querystring), 'query'));
}

/** Each parameter with its value, or with all its values when it is repeated. */
function parameters(querystring: string): Record<string, string | string[]> {
  // Without a prototype, so no name is special.
  const values = Object.create(null) as Record<string, string | string[]>;
  // One step a parameter: `getAll` for each name takes quadratic time for many names.
  for (const [name, value] of new URLSearchParams(querystring)) {
    const earlier = values[name];
    if (earlier === undefined) values[name] = value;
    else if (typeof earlier === 'string') values[name] = [earlier, value];
    else earlier.push(value);
  }
  return values;
}
