import fc from 'fast-check';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../../src/adapters/http/operations/document.ts';
import { text } from '../../../properties/arbitraries.ts';
import { holds } from '../../../properties/holds.ts';
import { exactValue } from '../../../properties/json-arbitraries.ts';
import type { Answer } from '../../../support/answer.ts';
import { type Api, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { rulesOfPage } from '../../../support/rules-of-page.ts';
import { type Schema, SchemaGenerator } from './generate-requests.ts';

type Parameter = {
  readonly name: string;
  readonly in: 'query' | 'header' | 'path';
  readonly required: boolean;
  readonly schema: Schema;
};
type Operation = {
  readonly operationId: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly content: { readonly 'application/json': { readonly schema: Schema } };
  };
};

// As a reader gets it: without what JSON cannot express.
const document = JSON.parse(JSON.stringify(openApiDocument(''))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
const generator = new SchemaGenerator(
  (ref) =>
    ref
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], document) as Schema,
);

type Values = Readonly<Record<string, string>>;

/** One operation, and how to call it. */
class Call {
  readonly operation: Operation;
  readonly #template: string;
  readonly #method: string;

  constructor(template: string, method: string, operation: Operation) {
    this.#template = template;
    this.#method = method.toUpperCase();
    this.operation = operation;
  }

  get parameters(): readonly Parameter[] {
    return this.operation.parameters ?? [];
  }

  get bodySchema(): Schema | undefined {
    return this.operation.requestBody?.content['application/json'].schema;
  }

  /** Valid texts of the parameters: the required ones, and some of the others. */
  validParameters(): fc.Arbitrary<Values> {
    const texts = this.parameters.map((parameter) => {
      const given = validText(parameter).map((value) => [[parameter.name, value]]);
      return parameter.required ? given : fc.oneof(given, fc.constant([]));
    });
    return fc.tuple(...texts).map((all) => Object.fromEntries(all.flat()) as Values);
  }

  validBody(): fc.Arbitrary<string | undefined> {
    return this.bodySchema === undefined
      ? fc.constant(undefined)
      : generator.valid(this.bodySchema).map(({ json }) => json);
  }

  send(api: Api, values: Values, body: string | undefined): Promise<Answer> {
    const given = this.parameters.filter(({ name }) => Object.hasOwn(values, name));
    const of = (place: Parameter['in']) => given.filter((parameter) => parameter.in === place);
    const path = of('path').reduce(
      (at, { name }) => at.replace(`{${name}}`, encodeURIComponent(values[name]!)),
      this.#template,
    );
    const query = of('query').map(({ name }) => `${name}=${encodeURIComponent(values[name]!)}`);
    const headers = of('header').map(({ name }) => [name, values[name]!]);
    return api.request(this.#method, `/v1${path}${query.length === 0 ? '' : `?${query.join('&')}`}`, {
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...Object.fromEntries(headers),
      },
      ...(body !== undefined && { body }),
    });
  }
}

const CALLS = Object.entries(document.paths).flatMap(([template, item]) =>
  Object.entries(item).map(([method, operation]) => new Call(template, method, operation)),
);

/** The text of a value in a path, a query or a header. */
function validText({ schema }: Parameter): fc.Arbitrary<string> {
  return generator.valid(schema).map(({ value }) => String(value));
}

/** What a client can send in a header. HTTP takes the white space at both ends away. */
const HEADER_VALUE = /^[!-~](?:[ -~]*[!-~])?$/;

/** Texts that break one constraint of a parameter. */
function badTexts({ schema, in: place }: Parameter): { constraint: string; text: fc.Arbitrary<string> }[] {
  const { type } = generator.deref(schema);
  return generator.violations(schema).flatMap(({ constraint, json }) => {
    // Every text is a string.
    if (constraint === 'type' && type === 'string') return [];
    const near = fc.constantFrom(
      '1.5',
      '0x1',
      'NaN',
      'null',
      'true',
      '--1',
      '1 ',
      ' 1',
      '1\n',
      '\u0661',
      '1,2',
    );
    const values =
      constraint === 'type'
        ? fc.oneof(
            near,
            text.filter((value) => !/^-?\d+$/.test(value)),
          )
        : json.map((value) => (type === 'string' ? (JSON.parse(value) as string) : value));
    return [
      {
        constraint,
        text: place === 'header' ? forHeader(schema) : values.filter((value) => isSendable(value, place)),
      },
    ];
  });
}

function isSendable(value: string, place: Parameter['in']): boolean {
  // An empty segment is another path.
  return value.isWellFormed() && !(place === 'path' && value === '');
}

/** Headers that do not match the pattern. In double quotes, a key has another form: see {@link BEYOND}. */
function forHeader(schema: Schema): fc.Arbitrary<string> {
  const { pattern = '' } = generator.deref(schema);
  const long = fc.string({ unit: fc.constantFrom('a', 'B', '~'), minLength: 256, maxLength: 300 });
  const odd = fc
    .tuple(fc.string(), fc.constantFrom(' ', '"', '", "'), fc.string())
    .map((parts) => `x${parts.join('')}x`);
  return fc.oneof(long, odd).filter((value) => HEADER_VALUE.test(value) && !new RegExp(pattern).test(value));
}

/** A refused request changes nothing. */
async function expectEmpty(api: Api): Promise<void> {
  expect((await api.get('/v1/pets')).body).toBe('[]');
}

function expectRefused(answer: Answer, named: string): void {
  expect(answer.status).toBe(400);
  expect((JSON.parse(answer.body) as { message: string }).message).toContain(named);
}

describe.each(CALLS.map((call) => [call.operation.operationId, call] as const))('%s', (_id, call) => {
  it('accepts what the document admits', async () => {
    await holds(
      fc.asyncProperty(call.validParameters(), call.validBody(), async (values, body) => {
        // A new catalogue each time, because a key may be used for one animal only.
        await using api = await startApi();
        const { status, body: answered } = await call.send(api, values, body);
        expect(call.bodySchema === undefined ? [200, 404] : [201]).toContain(status);
        if (body === undefined) return;
        const asked = exactly(body);
        expect(exactly(answered)).toStrictEqual({
          id: 1n,
          name: asked['name'],
          categoryId: asked['categoryId'],
          status: asked['status'] ?? 'available',
        });
      }),
      60,
    );
  });

  const parameters = call.parameters.flatMap((parameter) =>
    badTexts(parameter).map(
      ({ constraint, text: bad }) => [`${parameter.name} ${constraint}`, parameter, bad] as const,
    ),
  );

  it.each(parameters)('refuses what the document excludes: %s', async (_constraint, { name }, bad) => {
    await using api = await startApi();
    await holds(
      fc.asyncProperty(call.validParameters(), call.validBody(), bad, async (values, body, value) => {
        expectRefused(await call.send(api, { ...values, [name]: value }, body), name);
      }),
      20,
    );
    await expectEmpty(api);
  });

  const bodies = call.bodySchema === undefined ? [] : generator.violations(call.bodySchema);

  it.each(bodies.map(({ constraint, json }) => [constraint, json] as const))(
    'refuses what the document excludes: %s',
    async (constraint, json) => {
      const named = constraint === 'type' ? 'body' : constraint.replace(/^required /, '').split(' ')[0]!;
      await using api = await startApi();
      await holds(
        fc.asyncProperty(call.validParameters(), json, async (values, body) => {
          expectRefused(await call.send(api, values, body), named);
        }),
        20,
      );
      await expectEmpty(api);
    },
  );
});

/** The fields of a JSON object, with every digit of its numbers. */
function exactly(json: string): Record<string, unknown> {
  return JSON.parse(json, (_key, value: unknown, { source = '' }) =>
    typeof value === 'number' ? exactValue(source) : value,
  ) as Record<string, unknown>;
}

const JSON_TYPE = { 'content-type': 'application/json' };
const create =
  (headers: Record<string, string>, body: string | Uint8Array = petBody()) =>
  (api: Api) =>
    api.request('POST', '/v1/pets', { headers: { ...JSON_TYPE, ...headers }, body });
const get = (path: string) => (api: Api) => api.get(`/v1${path}`);

/**
 * Where the service accepts or refuses more than the keywords of the document say. The words of the document or the page
 * of its rules state the rule.
 */
const BEYOND: readonly (readonly [
  what: string,
  call: (api: Api) => Promise<Answer>,
  status: number,
  rule: string,
])[] = [
  [
    'an Idempotency-Key in double quotes',
    create({ 'idempotency-key': '"a key"' }),
    201,
    'bare or in double quotes. Double quotes also allow spaces',
  ],
  [
    'a charset',
    create({ 'content-type': 'application/json; charset=UTF-8' }),
    201,
    'with no charset except utf-8',
  ],
  [
    'another charset',
    create({ 'content-type': 'application/json; charset=latin1' }),
    415,
    'with no charset except utf-8',
  ],
  [
    'a content coding',
    create({ 'content-encoding': 'gzip' }, gzipSync(petBody())),
    201,
    '`Content-Encoding` is gzip, deflate, br',
  ],
  ['a header that asks for another media type', create({ accept: 'text/html' }), 201, '`Accept` is ignored'],
  [
    'an unknown field, and an id',
    create({}, petBody({ id: '"x"', statsu: '1' })),
    201,
    'accepts other fields and does not store them',
  ],
  ['HEAD', (api) => api.request('HEAD', '/v1/pets'), 200, '`HEAD` works wherever `GET` does'],
  ['OPTIONS', (api) => api.request('OPTIONS', '/v1/pets'), 204, '`OPTIONS` answers `204`'],
  [
    'a lone surrogate, which JSON can escape',
    create({}, petBody({ name: '"\\ud800"' })),
    400,
    'well-formed, without lone surrogates',
  ],
  [
    'a limit with a zero in front',
    get('/pets?limit=05'),
    400,
    'in canonical decimal digits (`20`; not `020`',
  ],
  [
    'a limit with a sign',
    get('/pets?limit=%2B5'),
    400,
    'in canonical decimal digits (`20`; not `020`, `+20`',
  ],
  ['a limit with an exponent', get('/pets?limit=1e1'), 400, 'not `020`, `+20`, `2e1`'],
  [
    'a petId with a fraction',
    get('/pets/42.0'),
    400,
    'in canonical decimal digits (`42`; not `042`, `+42`, `42.0`',
  ],
  ['a petId of minus zero', get('/pets/-0'), 400, 'canonical decimal digits'],
  [
    'an unknown parameter',
    get('/pets?page=2'),
    400,
    'An undocumented or repeated query parameter answers `400`',
  ],
  [
    'a repeated parameter',
    get('/pets?limit=5&limit=5'),
    400,
    'An undocumented or repeated query parameter answers `400`',
  ],
  [
    'a parameter of an operation without any',
    get('/pets/1?limit=5'),
    400,
    'This operation has no query parameters',
  ],
  ['a slash at the end', get('/pets/'), 404, '`/v1/pets/` is not `/v1/pets`'],
  ['no body', create({}, ''), 400, 'The body is empty'],
];

it.each(BEYOND)('beyond its keywords, the document says in words: %s', async (_what, call, status, rule) => {
  await using api = await startApi();
  const words = JSON.stringify(document) + (await rulesOfPage()).replaceAll(/<\/?code>/g, '`');
  expect(words).toContain(rule);
  expect((await call(api)).status).toBe(status);
});
