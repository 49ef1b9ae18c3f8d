import { expect, it } from 'vitest';
import openApi from '../../../../openapi.json' with { type: 'json' };
import packageJson from '../../../../package.json' with { type: 'json' };
import { V1 } from '../../../../src/adapters/http/contract/versions.ts';
import { describeOperations } from '../../../../src/adapters/http/operations/document.ts';
import { operation } from '../../../../src/adapters/http/operations/operation.ts';
import { OPERATIONS as ALL } from '../../../../src/adapters/http/operations/operations.ts';
import { startApi } from '../../../support/http.ts';

type Node = Readonly<Record<string, unknown>>;

// document-file.test.ts proves that the service creates this document. The tests below check single rules, and give
// their reasons.
const document: Node = openApi;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

/** Yields each object in the document with its path. */
function* nodes(node: unknown = document, path = '#'): Generator<readonly [string, Node]> {
  if (!isNode(node)) return;
  yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* nodes(value, `${path}/${key}`);
}

function at(path: string, from: unknown = document): unknown {
  return path.split(' ').reduce((node, key) => (node as Node)[key], from);
}

type Response = { readonly $ref?: string; readonly headers: Node };
type Operation = { readonly operationId: string; readonly responses: Readonly<Record<string, Response>> };

const OPERATIONS = Object.values(openApi.paths).flatMap(
  (item) => Object.values(item) as unknown as Operation[],
);

/** Every answer of every operation, with the names of its headers. */
const ANSWERS = OPERATIONS.flatMap(({ operationId, responses }) =>
  Object.entries(responses).map(([status, response]) => {
    const { headers } =
      response.$ref === undefined ? response : (at(response.$ref.slice(2).replaceAll('/', ' ')) as Response);
    return {
      answer: `${operationId} ${status}`,
      operationId,
      status: Number(status),
      names: Object.keys(headers),
    };
  }),
);

it.each<[string, Parameters<typeof startApi>[0], Record<string, string>, string]>([
  ['the host of the request', {}, { host: 'a.example:81' }, 'http://a.example:81'],
  ['PUBLIC_URL', { publicUrl: 'https://petstore.example/api' }, {}, 'https://petstore.example/api'],
])(
  'the absolute URLs in the OpenAPI document that the service serves begin with %s',
  async (_, options, headers, base) => {
    await using api = await startApi(options);
    // The base URL may differ in each request, so a document must not be kept for the next request.
    for (const [requestHeaders, baseUrl] of [
      [headers, base],
      [{}, options?.publicUrl ?? api.url],
      [headers, base],
    ] as const) {
      const { body } = await api.get('/openapi.json', { authorization: undefined, ...requestHeaders });
      expect(body).toBe(JSON.stringify(openApi).replaceAll('http://127.0.0.1:3000', baseUrl));
    }
  },
);

it('the OpenAPI document has the versions and the names of the specification', () => {
  expect(document).toMatchObject({
    openapi: '3.0.3',
    info: { version: packageJson.version, license: { name: packageJson.license } },
    security: [{ apiKey: [] }],
    components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
  });
  expect(Object.keys(at('components schemas') as Node)).toEqual([
    'PetStatus',
    'NewPet',
    'Pet',
    'Pets',
    'Error',
  ]);
  // The document does not contain /livez, because most generators ignore the servers of a path and would call
  // /v1/livez.
  expect(OPERATIONS).toMatchObject([
    { operationId: 'listPets', tags: ['animals'] },
    { operationId: 'createPet', tags: ['animals'] },
    { operationId: 'getPet', tags: ['animals'], deprecated: true, 'x-sunset': '2030-12-05' },
  ]);
});

it('the OpenAPI document allows unknown fields, and requires only what the service always sends or needs', () => {
  // The field has no `default`, because openapi-typescript would then require the field.
  expect(at('components schemas NewPet properties status')).toEqual({
    $ref: '#/components/schemas/PetStatus',
  });
  // Without `additionalProperties`, JSON Schema allows unknown fields, and a generated type warns about a misspelt
  // field.
  for (const schema of ['NewPet', 'Error']) {
    expect(at(`components schemas ${schema}`)).not.toHaveProperty('additionalProperties');
  }
  expect(at('components schemas Error properties code')).not.toHaveProperty('enum');
  for (const header of ['RateLimit', 'RateLimit-Policy']) {
    expect(at(`components headers ${header}`)).not.toHaveProperty('required');
  }
  // Some tools send every example. This cursor lists from the first pet. There is no example of an Idempotency-Key,
  // because a tool would send one key for several pets.
  expect(at('paths /pets get parameters 2 example')).toBe('v1.0000000000000000');
  expect(JSON.stringify(at('paths /pets post parameters 0'))).not.toContain('"example"');
});

it('the OpenAPI document names the special headers of each answer, and no header that all HTTP servers send', () => {
  const rateHeaders = ['RateLimit-Policy', 'RateLimit'];
  const sunsetHeaders = ['Deprecation', 'Sunset'];
  const commonHeaders = [
    'X-Content-Type-Options',
    'Cache-Control',
    'Content-Length',
    'Content-Type',
    'Date',
    'Connection',
  ];
  const checkedHeaders = ['X-Request-Id', ...rateHeaders, ...sunsetHeaders, ...commonHeaders];
  expect(ANSWERS.length).toBeGreaterThan(20);
  for (const { answer, operationId, status, names } of ANSWERS) {
    // The service sends these answers without a known API key, so they report no rate limit.
    const isEarly = [401, 408, 414, 431].includes(status) || (status === 413 && operationId !== 'createPet');
    // The service may send these answers before it has parsed the path, so the document does not name the headers.
    const isAnnounced = operationId === 'getPet' && ![400, 408, 413, 414, 431].includes(status);
    const expected = ['X-Request-Id', ...(isEarly ? [] : rateHeaders), ...(isAnnounced ? sunsetHeaders : [])];
    expect(new Set(names.filter((name) => checkedHeaders.includes(name))), answer).toEqual(new Set(expected));
  }
});

it('the OpenAPI document has no number that a double cannot represent', () => {
  const numbers = [...nodes()]
    .flatMap(([, node]) => Object.values(node))
    .filter((v) => typeof v === 'number');
  expect(numbers.filter((number) => !Number.isSafeInteger(number))).toEqual([]);
});

it('the OpenAPI document has no pattern that only some dialects of regular expressions support', () => {
  const patterns = [...nodes()].flatMap(([path, { pattern }]) =>
    typeof pattern === 'string' ? [[path, pattern] as const] : [],
  );
  expect(patterns.length).toBeGreaterThan(5);
  for (const [path, pattern] of patterns) {
    // PCRE, Perl and Go have no \u, and Go has no look-around. \w, \d, \b and \s differ between the dialects: the
    // comment of PET_NAME_PATTERN explains this for \s.
    expect(pattern.replaceAll(/\\(?:[.sS]|x[0-9a-f]{2})/g, ''), path).not.toMatch(/\\|\(\?/);
    expect(pattern, path).toMatch(/^\^.*\$$/);
    expect(() => [new RegExp(pattern), new RegExp(pattern, 'u')], path).not.toThrow();
  }
});

it('the OpenAPI document names in each 405 the methods of its path, even if the path has several operations', () => {
  const deletePet = operation({
    name: 'deletePet',
    version: V1,
    method: 'delete',
    path: '/pets/{petId}',
    scope: 'pets:write',
    summary: 'Remove an animal',
    description: 'An operation that does not exist.',
    documentation: () => ({ responses: {} }),
    handler: () => async () => {},
  });
  const described = describeOperations([...ALL, deletePet]);
  const allow = {
    '/pets get': 'GET, HEAD, OPTIONS, POST',
    '/pets post': 'GET, HEAD, OPTIONS, POST',
    '/pets/{petId} get': 'DELETE, GET, HEAD, OPTIONS',
    '/pets/{petId} delete': 'DELETE, GET, HEAD, OPTIONS',
  };
  for (const [place, methods] of Object.entries(allow)) {
    const refusal = at(`paths ${place} responses 405`, described);
    expect(at('headers Allow example', refusal), place).toBe(methods);
    expect(at('content application/json examples METHOD_NOT_ALLOWED value message', refusal), place).toBe(
      `this path allows ${methods}`,
    );
  }
});
