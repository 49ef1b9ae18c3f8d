import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openApiDocument } from '../../src/adapters/http/operations/document.ts';
import { holds } from '../properties/holds.ts';
import { exactValue } from '../properties/json-arbitraries.ts';
import { aRequest, bytesOf } from '../properties/requests.ts';
import { violations } from '../../test/support/conformance.ts';
import { expectedAnswer } from './expected-answer.ts';
import { type ReadRequest, readRequests, valuesOf } from './read-requests.ts';

type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};
type Parameter = { readonly name: string; readonly in: 'query' | 'header' | 'path'; readonly schema: Schema };
type Operation = {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
};

// The document as a client receives it. The step through JSON removes values that JSON cannot express.
const document = JSON.parse(JSON.stringify(openApiDocument(''))) as {
  readonly paths: Readonly<Record<'/pets' | '/pets/{petId}', Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

function resolve(schema: Schema): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : document.components.schemas[name]!;
}

/** Keywords that do not constrain a value. */
const ANNOTATIONS = ['description', 'example', 'default'];

/** Lists the constraints of a schema, each as a place and a keyword, such as `body/name maxLength`. */
function constraintsOf(place: string, schema: Schema): string[] {
  const { properties = {}, required = [], ...otherKeywords } = resolve(schema);
  return [
    ...Object.keys(otherKeywords)
      .filter((keyword) => !ANNOTATIONS.includes(keyword))
      .map((keyword) => `${place} ${keyword}`),
    ...required.map((name) => `${place} required ${name}`),
    ...Object.entries(properties).flatMap(([name, property]) => constraintsOf(`${place}/${name}`, property)),
  ];
}

const OPERATIONS = Object.values(document.paths).flatMap((item) => Object.values(item));

const bodySchemaOf = ({ requestBody }: Operation) => requestBody?.content['application/json'].schema;

/** All constraints on requests, without `type: string` of a parameter: every parameter is a text. */
const CONSTRAINTS = OPERATIONS.flatMap((operation) => [
  ...(operation.parameters ?? []).flatMap(({ name, schema }) =>
    constraintsOf(name, schema).filter(
      (constraint) => constraint !== `${name} type` || resolve(schema).type !== 'string',
    ),
  ),
  ...(bodySchemaOf(operation) === undefined ? [] : constraintsOf('body', bodySchemaOf(operation)!)),
]);

/**
 * The values of a request, each with its place and its schema. `undefined` if the request meets a rule that the
 * document states only in words, because a schema cannot express the rule.
 */
function valuesIn(
  request: ReadRequest,
): (readonly [place: string, schema: Schema, value: unknown])[] | undefined {
  const { method, target } = request;
  const [path = '', search = ''] = target.split(/\?(.*)/s);
  const searchParams = new URLSearchParams(`?${search}`);
  const [, , , id] = path.split('/');
  const petId = id && decodeURIComponent(id);
  const operation = document.paths[petId === undefined ? '/pets' : '/pets/{petId}'][method.toLowerCase()]!;
  const parameters = operation.parameters ?? [];
  const names = [...searchParams.keys()];
  const isKnown = (name: string) => parameters.some((each) => each.in === 'query' && each.name === name);
  if (!names.every(isKnown) || new Set(names).size < names.length || /[#\\]/.test(target)) return undefined;
  const values = parameters.flatMap(({ name, in: location, schema }) => {
    const [text] = {
      query: searchParams.getAll(name),
      header: valuesOf(request, name.toLowerCase()),
      path: [petId],
    }[location];
    if (text === undefined) return [];
    const isInteger = resolve(schema).type !== 'string' && /^(?:0|-?[1-9]\d*)$/.test(text);
    return [[name, schema, isInteger ? parseAsDoubles(text) : text] as const];
  });
  if (valuesOf(request, 'idempotency-key').some((key) => key.startsWith('"'))) return undefined;
  const schema = bodySchemaOf(operation);
  if (schema === undefined) return values;
  try {
    const body = parseAsDoubles(request.body.toString());
    // The service refuses a lone surrogate (half of a UTF-16 pair, such as "\ud800"). No keyword can express this rule.
    const isWellFormed = (body as { name?: string } | null)?.name?.isWellFormed?.() ?? true;
    return isWellFormed ? [...values, ['body', schema, body]] : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Parses JSON with numbers as doubles. An integer just outside the range of int64 would be rounded into the range, so
 * every integer outside becomes 2^64 or -2^64.
 */
function parseAsDoubles(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown, { source = '' }) => {
    if (typeof value !== 'number') return value;
    const exact = exactValue(source);
    return typeof exact === 'bigint' || !Number.isInteger(exact) ? Number(exact) : Math.sign(exact) * 2 ** 64;
  });
}

it('the expected status of a request is 400 if, and only if, the request breaks a constraint of the OpenAPI document', async () => {
  const brokenConstraints = new Set<string>();
  await holds(
    fc.property(aRequest, (sample) => {
      const [request] = readRequests(bytesOf(sample, 'key')).requests;
      const values = request && valuesIn(request);
      if (request === undefined || values === undefined) return;
      const errors = values.flatMap(([place, schema, value]) =>
        violations(schema, value).map(({ instancePath, keyword, params }) => ({
          place: place + instancePath,
          constraint: [place + instancePath, keyword, params['missingProperty']].join(' ').trim(),
        })),
      );
      const isRefused = expectedAnswer(request, { key: 'key' }).statuses?.includes(400);
      expect(isRefused, `${request.target} ${request.body.toString()}`).toBe(errors.length > 0);
      // If several places are wrong, it is not certain which of them causes the 400.
      if (new Set(errors.map(({ place }) => place)).size > 1) return;
      for (const { constraint } of errors) brokenConstraints.add(constraint);
    }),
    2_000,
  );
  expect([...brokenConstraints].toSorted()).toStrictEqual(CONSTRAINTS.toSorted());
});
