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

// As a reader gets it: without what JSON cannot express.
const document = JSON.parse(JSON.stringify(openApiDocument(''))) as {
  readonly paths: Readonly<Record<'/pets' | '/pets/{petId}', Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
};

function resolved(schema: Schema): Schema {
  const name = schema.$ref?.replace('#/components/schemas/', '');
  return name === undefined ? schema : document.components.schemas[name]!;
}

const ANNOTATIONS = ['description', 'example', 'default'];

/** The constraints of a schema, as their place and their keyword. */
function constraintsOf(what: string, schema: Schema): string[] {
  const { properties = {}, required = [], ...rest } = resolved(schema);
  return [
    ...Object.keys(rest)
      .filter((keyword) => !ANNOTATIONS.includes(keyword))
      .map((keyword) => `${what} ${keyword}`),
    ...required.map((name) => `${what} required ${name}`),
    ...Object.entries(properties).flatMap(([name, property]) => constraintsOf(`${what}/${name}`, property)),
  ];
}

const OPERATIONS = Object.values(document.paths).flatMap((item) => Object.values(item));

const bodySchema = ({ requestBody }: Operation) => requestBody?.content['application/json'].schema;

/** Every constraint on a request. A parameter is a text, so none breaks the type of one. */
const CONSTRAINTS = OPERATIONS.flatMap((operation) => [
  ...(operation.parameters ?? []).flatMap(({ name, schema }) =>
    constraintsOf(name, schema).filter(
      (constraint) => constraint !== `${name} type` || resolved(schema).type !== 'string',
    ),
  ),
  ...(bodySchema(operation) === undefined ? [] : constraintsOf('body', bodySchema(operation)!)),
]);

/** The values of a request, each with its schema; `undefined` if it breaks a rule that the document has in words. */
function valuesIn(
  request: ReadRequest,
): (readonly [what: string, schema: Schema, value: unknown])[] | undefined {
  const { method, target } = request;
  const [path = '', search = ''] = target.split(/\?(.*)/s);
  const searchParams = new URLSearchParams(`?${search}`);
  const [, , , id] = path.split('/');
  const petId = id && decodeURIComponent(id);
  const operation = document.paths[petId === undefined ? '/pets' : '/pets/{petId}'][method.toLowerCase()]!;
  const parameters = operation.parameters ?? [];
  const names = [...searchParams.keys()];
  const isKnown = (name: string) => parameters.some((known) => known.in === 'query' && known.name === name);
  if (!names.every(isKnown) || new Set(names).size < names.length || /[#\\]/.test(target)) return undefined;
  const values = parameters.flatMap(({ name, in: place, schema }) => {
    const [text] = {
      query: searchParams.getAll(name),
      header: valuesOf(request, name.toLowerCase()),
      path: [petId],
    }[place];
    if (text === undefined) return [];
    const isNumber = resolved(schema).type !== 'string' && /^(?:0|-?[1-9]\d*)$/.test(text);
    return [[name, schema, isNumber ? exactly(text) : text] as const];
  });
  if (valuesOf(request, 'idempotency-key').some((key) => key.startsWith('"'))) return undefined;
  const schema = bodySchema(operation);
  if (schema === undefined) return values;
  try {
    const body = exactly(request.body.toString());
    // No keyword excludes a lone surrogate, which JSON can escape.
    const isWellFormed = (body as { name?: string } | null)?.name?.isWellFormed?.() ?? true;
    return isWellFormed ? [...values, ['body', schema, body]] : undefined;
  } catch {
    return undefined;
  }
}

/** Parses JSON. An integer beyond int64 stays beyond it as a double. */
function exactly(json: string): unknown {
  return JSON.parse(json, (_key, value: unknown, { source = '' }) => {
    if (typeof value !== 'number') return value;
    const exact = exactValue(source);
    return typeof exact === 'bigint' || !Number.isInteger(exact) ? Number(exact) : Math.sign(exact) * 2 ** 64;
  });
}

it('a request is refused exactly if it breaks a constraint of the document', async () => {
  const broken = new Set<string>();
  await holds(
    fc.property(aRequest, (sent) => {
      const [request] = readRequests(bytesOf(sent, 'key')).requests;
      const values = request && valuesIn(request);
      if (request === undefined || values === undefined) return;
      const errors = values.flatMap(([what, schema, value]) =>
        violations(schema, value).map(({ instancePath, keyword, params }) => ({
          place: what + instancePath,
          constraint: [what + instancePath, keyword, params['missingProperty']].join(' ').trim(),
        })),
      );
      const isRefused = expectedAnswer(request, { key: 'key' }).statuses?.includes(400);
      expect(isRefused, `${request.target} ${request.body.toString()}`).toBe(errors.length > 0);
      // Broken at one place only, a constraint shows that the service knows it.
      if (new Set(errors.map(({ place }) => place)).size > 1) return;
      for (const { constraint } of errors) broken.add(constraint);
    }),
    2_000,
  );
  expect([...broken].toSorted()).toStrictEqual(CONSTRAINTS.toSorted());
});
