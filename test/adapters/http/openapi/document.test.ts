import { describe, expect, it } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { acceptedRequestId, ANSWER_HEADERS } from '../../../../src/adapters/http/wire/answer-headers.ts';
import { ERROR_STATUS } from '../../../../src/adapters/http/wire/errors.ts';
import { openApiDocument } from '../../../../src/adapters/http/operations/document.ts';
import { scopeChallenge } from '../../../../src/adapters/http/wire/refusals.ts';
import { mintKey } from '../../../../src/adapters/tokens/token.ts';
import type { Scope } from '../../../../src/domain/api-key.ts';
import {
  DEFAULT_PET_STATUS,
  PAGE_SIZE_DEFAULT,
  PAGE_SIZE_MAX,
  PAGE_SIZE_MIN,
  PET_NAME_MAX_LENGTH,
  PET_NAME_MIN_LENGTH,
  PET_NAME_PATTERN,
  PET_STATUSES,
  petNameProblem,
} from '../../../../src/domain/pet.ts';
import { schemaProblems } from '../../../support/conformance.ts';
import { startApi } from '../../../support/http.ts';

type Node = Readonly<Record<string, unknown>>;

// As a reader gets it: without what JSON cannot express.
const document = JSON.parse(JSON.stringify(openApiDocument('https://petstore.example'))) as Node;

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null;
}

/** Every object in the document with its path. */
function* nodes(node: unknown = document, path = '#'): Generator<readonly [string, Node]> {
  if (!isNode(node)) return;
  yield [path, node];
  for (const [key, value] of Object.entries(node)) yield* nodes(value, `${path}/${key}`);
}

function at(path: string): unknown {
  return path.split(' ').reduce<unknown>((node, key) => (node as Node)[key], document);
}

/** The object itself, or the one that a reference points to. */
function resolved(node: unknown): Node {
  const { $ref } = node as { readonly $ref?: string };
  return ($ref === undefined ? node : at($ref.replace('#/', '').replaceAll('/', ' '))) as Node;
}

const ANIMALS = ['/pets get', '/pets post', '/pets/{petId} get'];

describe('the OpenAPI document', () => {
  it('is what the service serves, without a key and each time', async () => {
    await using api = await startApi();
    for (let i = 0; i < 2; i++) {
      const { status, body } = await api.get('/openapi.json', { authorization: undefined });
      expect([status, body]).toEqual([200, JSON.stringify(openApiDocument(api.url))]);
    }
  });

  it.each<[string, Parameters<typeof startApi>[0], Record<string, string>, string]>([
    ['the host of the request', {}, { host: 'a.example:81' }, 'http://a.example:81'],
    ['PUBLIC_URL', { publicUrl: 'https://petstore.example/api' }, {}, 'https://petstore.example/api'],
    [
      'what a trusted proxy forwards',
      { trustProxy: true },
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'petstore.example' },
      'https://petstore.example',
    ],
  ])('has absolute URLs that begin with %s', async (_, options, headers, base) => {
    await using api = await startApi(options);
    // The next request may come by another way.
    const asked = [
      await api.get('/openapi.json', headers),
      await api.get('/openapi.json'),
      await api.get('/openapi.json', headers),
    ];
    const [first, other, last] = asked.map(({ body }) => JSON.parse(body) as Node);
    for (const served of [first, last]) {
      expect(served).toMatchObject({
        servers: [{ url: `${base}/v1` }],
        externalDocs: { url: `${base}/docs` },
      });
      expect(served).toMatchObject({
        info: { description: expect.stringContaining(`(${base}/docs#rules)`) },
      });
    }
    const without = options?.publicUrl ?? api.url;
    expect(other).toMatchObject({ servers: [{ url: `${without}/v1` }] });
  });

  it('has the version, the base path and the names of the specification', () => {
    expect(document).toMatchObject({
      openapi: '3.0.3',
      info: { version: packageJson.version, license: { name: packageJson.license } },
      servers: [{ url: 'https://petstore.example/v1' }],
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
    expect(ANIMALS.map((operation) => at(`paths ${operation} operationId`))).toEqual([
      'listPets',
      'createPet',
      'getPet',
    ]);
    for (const operation of ANIMALS) {
      expect(at(`paths ${operation}`)).toMatchObject({ tags: ['animals'] });
      expect(at(`paths ${operation}`)).not.toHaveProperty('security');
    }
  });

  // Most generators ignore the servers of a path, and would call /v1/livez.
  it('describes the three operations and nothing else', () => {
    const all = Object.entries(document['paths'] as Node).flatMap(([path, item]) =>
      Object.keys(item as Node).map((method) => `${path} ${method}`),
    );
    expect(all).toEqual(ANIMALS);
    expect(document['tags']).toEqual([{ name: 'animals', description: 'The catalogue of animals.' }]);
    expect(Object.keys(document['components'] as Node)).toEqual([
      'schemas',
      'headers',
      'responses',
      'securitySchemes',
    ]);
  });

  it('describes itself in a few lines', () => {
    expect(String(at('info description')).split('\n').length).toBeLessThan(5);
    expect(at('info description')).toContain('(https://petstore.example/docs#rules)');
  });
});

describe('the rules in the OpenAPI document', () => {
  it('are those of the fields', () => {
    expect(at('components schemas PetStatus enum')).toEqual(PET_STATUSES);
    expect(at('components schemas NewPet')).toMatchObject({
      required: ['name', 'categoryId'],
      properties: {
        name: {
          type: 'string',
          minLength: PET_NAME_MIN_LENGTH,
          maxLength: PET_NAME_MAX_LENGTH,
          pattern: PET_NAME_PATTERN,
        },
        categoryId: { type: 'integer', format: 'int64' },
      },
    });
    // A `default` would make openapi-typescript require the field.
    expect(at('components schemas NewPet properties status')).toEqual({
      $ref: '#/components/schemas/PetStatus',
    });
    expect(at('components schemas NewPet description')).toContain(
      `Without a \`status\` it is \`${DEFAULT_PET_STATUS}\`.`,
    );
    // A type that takes any field would not warn about a misspelt one. Without the keyword a schema is still open.
    expect(at('components schemas NewPet')).not.toHaveProperty('additionalProperties');
    expect(
      schemaProblems('NewPet', at('components schemas NewPet') as Node, {
        name: 'a',
        categoryId: 7,
        statsu: 1,
      }),
    ).toEqual([]);
    expect(at('components schemas Pet required')).toEqual(['id', 'name', 'categoryId', 'status']);
    expect(at('components schemas Pets')).toMatchObject({ type: 'array', maxItems: PAGE_SIZE_MAX });
    expect(at('components schemas Error required')).toEqual(['code', 'message', 'status']);
  });

  it('are those of the parameters', () => {
    expect(at('paths /pets get parameters')).toMatchObject([
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: {
          type: 'integer',
          minimum: PAGE_SIZE_MIN,
          maximum: PAGE_SIZE_MAX,
          default: PAGE_SIZE_DEFAULT,
        },
      },
      { name: 'status', in: 'query', required: false, schema: { $ref: '#/components/schemas/PetStatus' } },
      { name: 'cursor', in: 'query', required: false, schema: { type: 'string' } },
    ]);
    expect(at('paths /pets/{petId} get parameters')).toMatchObject([
      { name: 'petId', in: 'path', required: true, schema: { type: 'integer', format: 'int64' } },
    ]);
  });

  it('are those of the deprecation', () => {
    expect(at('paths /pets/{petId} get')).toMatchObject({ deprecated: true, 'x-sunset': '2030-12-05' });
    expect(at('components headers Deprecation schema enum')).toEqual(['@1795132800']);
    expect(at('components headers Sunset schema enum')).toEqual(['Thu, 05 Dec 2030 00:00:00 GMT']);
    for (const status of [200, 401, 403, 404, 405, 410, 429, 500, 503]) {
      expect(Object.keys(at(`paths /pets/{petId} get responses ${status} headers`) as Node)).toEqual(
        expect.arrayContaining(['Deprecation', 'Sunset', 'Link']),
      );
    }
    for (const operation of ANIMALS.slice(0, 2)) {
      expect(at(`paths ${operation}`)).not.toHaveProperty('deprecated');
    }
  });

  it('are those of the scopes', () => {
    const scopes = { '/pets get': 'pets:read', '/pets post': 'pets:write', '/pets/{petId} get': 'pets:read' };
    for (const [operation, scope] of Object.entries(scopes)) {
      const challenge = scopeChallenge(scope as Scope);
      const forbidden = resolved(at(`paths ${operation} responses 403`));
      expect(resolved((forbidden['headers'] as Node)['WWW-Authenticate'])).toMatchObject({
        required: true,
        schema: { enum: [challenge] },
      });
      expect(JSON.stringify(forbidden['content'])).toContain(`the API key does not have the scope ${scope}`);
      expect(at(`paths ${operation} description`)).toContain(`Needs an API key with the scope \`${scope}\`.`);
    }
  });

  it('are those of the rate limit', () => {
    for (const operation of ANIMALS) {
      for (const [status, answer] of Object.entries(at(`paths ${operation} responses`) as Node)) {
        // The service answers these before it knows the key, or without looking at it.
        const early = ['401', '408', '414', '431', ...(operation === '/pets post' ? [] : ['413'])];
        const isLimited = !early.includes(status);
        const headers = resolved(answer)['headers'] as Node;
        expect([operation, status, 'RateLimit' in headers, 'RateLimit-Policy' in headers]).toEqual([
          operation,
          status,
          isLimited,
          isLimited,
        ]);
      }
      expect(resolved(at(`paths ${operation} responses 429`))['headers']).toHaveProperty('Retry-After');
    }
    for (const header of ['RateLimit', 'RateLimit-Policy']) {
      expect(at(`components headers ${header}`)).not.toHaveProperty('required');
    }
  });

  it('are those of the form of a key', () => {
    const { token } = mintKey();
    expect(token).toMatch(/^pets_[0-9a-f]{16}_[0-9A-Za-z]{49}$/);
    expect(at('components securitySchemes apiKey description')).toContain(
      'begins with `pets_`: its public id of 16 hex digits follows, an underscore, and 49 letters and digits',
    );
  });

  it('name the request id of every answer, and no header that every HTTP server sends', () => {
    const described = [...nodes()].filter(([, node]) => 'content' in node && 'headers' in node);
    expect(described.length).toBeGreaterThan(20);
    for (const [path, { headers }] of described) {
      const names = Object.keys(headers as Node);
      expect(names, path).toContain('X-Request-Id');
      for (const name of [
        ...Object.keys(ANSWER_HEADERS),
        'Content-Length',
        'Content-Type',
        'Date',
        'Connection',
      ]) {
        expect(names, path).not.toContain(name);
      }
    }
    expect(Object.keys(at('components headers') as Node)).not.toContain('Content-Length');
  });

  it('are those of the headers of a page', () => {
    for (const status of [200, 503]) {
      expect(at(`paths /pets get responses ${status} headers`)).toMatchObject({
        Link: { $ref: '#/components/headers/NextPage' },
        'Next-Cursor': { $ref: '#/components/headers/Next-Cursor' },
      });
    }
    expect(at('components headers Next-Cursor')).not.toHaveProperty('required');
  });

  it('let a tool that sends every example do no harm', () => {
    // The beginning of the catalogue.
    expect(at('paths /pets get parameters 2')).toMatchObject({
      name: 'cursor',
      example: 'v1.0000000000000000',
    });
    expect(at('paths /pets post parameters')).toEqual([
      expect.objectContaining({
        name: 'Idempotency-Key',
        description: expect.stringContaining('such as the UUID `8e03978e-40d5-43dd-bc93-6894a57f9324`'),
      }),
    ]);
    expect(at('paths /pets post parameters 0')).not.toHaveProperty('example');
    expect(at('paths /pets post parameters 0 schema')).not.toHaveProperty('example');
  });

  it.each([
    ['/v1/pets/1', true],
    ['/api/v1/pets/9007199254740991', true],
    ['/a/b/v1/pets/10', true],
    ['/v1/pets/0', false],
    ['/v1/pets/01', false],
    ['/v1/pets/', false],
    ['v1/pets/1', false],
    ['/pets/1', false],
    ['/v1/pets/1/', false],
  ])('are those of the place of a new animal: %s', (location, valid) => {
    expect(
      schemaProblems('Location', at('components headers Location schema') as Node, location).length === 0,
    ).toBe(valid);
  });

  it.each(['a', 'A-Z_.9', 'x'.repeat(64), 'x'.repeat(65), '', 'a b', 'ä', 'a/b', 'a\n'])(
    'are those of the request id %j',
    (id) => {
      expect(at('components headers X-Request-Id schema pattern')).toSatisfy(
        (pattern: string) => new RegExp(pattern).test(id) === (acceptedRequestId(id) === id),
      );
    },
  );
});

describe('the errors in the OpenAPI document', () => {
  const statuses: Readonly<Record<string, readonly number[]>> = {
    '/pets get': [400, 401, 403, 405, 408, 413, 414, 429, 431, 500, 503],
    '/pets post': [400, 401, 403, 405, 408, 413, 414, 415, 422, 429, 431, 500, 503],
    '/pets/{petId} get': [400, 401, 403, 404, 405, 408, 410, 413, 414, 429, 431, 500, 503],
  };

  it.each(Object.entries(statuses))('of %s are all there', (operation, expected) => {
    const documented = Object.keys(at(`paths ${operation} responses`) as Node).map(Number);
    expect(documented.filter((status) => status >= 400)).toEqual(expected);
  });

  it.each(Object.entries(ERROR_STATUS))('include %s', (code, status) => {
    expect(at('components schemas Error properties code x-extensible-enum')).toContain(code);
    // There is no operation to which it could belong.
    if (code === 'ROUTE_NOT_FOUND') return;
    const examples = [...nodes()].filter(([path]) => path.endsWith(`/examples/${code}/value`));
    expect(examples.length).toBeGreaterThan(0);
    for (const [path, example] of examples) {
      expect(example, path).toEqual({ code, message: expect.stringMatching(/./), status });
    }
  });

  it('stand under their status', () => {
    const examples = [...nodes()].flatMap(([path, { code, status }]) => {
      const [, under] = /\/responses\/(\d{3})\/.*\/value$/.exec(path) ?? [];
      return under === undefined || code === undefined ? [] : [[Number(under), status]];
    });
    expect(examples.length).toBeGreaterThan(10);
    expect(examples.filter(([under, status]) => under !== status)).toEqual([]);
  });

  it('are an open set', () => {
    expect(at('components schemas Error properties code')).toMatchObject({ type: 'string' });
    expect(at('components schemas Error properties code')).not.toHaveProperty('enum');
    expect(at('components schemas Error')).not.toHaveProperty('additionalProperties');
  });
});

describe('the OpenAPI document is safe for tools', () => {
  const examples = [...nodes()].flatMap(([path, node]): [string, unknown, unknown][] => {
    const schema = node['schema'] ?? ('type' in node ? node : undefined);
    const named = isNode(node['examples']) ? Object.entries(node['examples']) : [];
    return [
      ...('example' in node && schema !== undefined
        ? ([[`${path}/example`, schema, node['example']]] as [string, unknown, unknown][])
        : []),
      ...named.map(([name, example]): [string, unknown, unknown] => [
        `${path}/examples/${name}`,
        schema,
        (example as Node)['value'],
      ]),
    ];
  });

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(50);
  });

  it.each(examples)('%s is valid', (path, schema, example) => {
    expect(schemaProblems(path, schema as Node, example)).toEqual([]);
  });

  it('has no number that a double cannot hold', () => {
    const numbers = [...nodes()]
      .flatMap(([, node]) => Object.values(node))
      .filter((v) => typeof v === 'number');
    expect(numbers.filter((number) => !Number.isSafeInteger(number))).toEqual([]);
  });

  it('has nothing beside a $ref, which OpenAPI 3.0 would ignore', () => {
    const refs = [...nodes()].filter(([, node]) => '$ref' in node);
    expect(refs.filter(([, node]) => Object.keys(node).length > 1)).toEqual([]);
    for (const [path, { $ref }] of refs) {
      expect(at(String($ref).replace('#/', '').replaceAll('/', ' ')), path).toBeDefined();
    }
  });

  it('has no pattern that dialects of regular expressions read in different ways', () => {
    const patterns = [...nodes()].flatMap(([path, { pattern }]) =>
      typeof pattern === 'string' ? [[path, pattern] as const] : [],
    );
    expect(patterns.length).toBeGreaterThan(5);
    for (const [path, pattern] of patterns) {
      // Classes and look-around differ between ECMAScript, Python, Go and Java; \u0000 is the same in all but Go.
      expect(pattern, path).not.toMatch(/\\[wWdDsSbBpP]|\(\?[^:]/);
      expect(pattern, path).toMatch(/^\^.*\$$/);
      expect(() => [new RegExp(pattern), new RegExp(pattern, 'u')], path).not.toThrow();
    }
  });

  const names = [
    'Rex',
    ' Rex ',
    'Mia 🐈',
    '🐈',
    'e\u0301',
    '',
    ' ',
    '\u00a0',
    '\u3000\ufeff\u2028',
    '\u200b',
    '\u0085',
    'a\tb',
    'a\n',
    '\na',
    '\u0000',
    '\u001f',
    '\u007f',
    '\u0080',
    'x'.repeat(PET_NAME_MAX_LENGTH),
    'x'.repeat(PET_NAME_MAX_LENGTH + 1),
    '🐈'.repeat(PET_NAME_MAX_LENGTH),
    '🐈'.repeat(PET_NAME_MAX_LENGTH + 1),
    ' '.repeat(PET_NAME_MAX_LENGTH),
  ];

  it.each(names)('agrees with the domain about the name %j', (name) => {
    const schema = at('components schemas NewPet properties name') as Node;
    const good = petNameProblem(name) === undefined;
    expect(schemaProblems('name', schema, name).length === 0).toBe(good);
    // Validators compile a pattern with or without the flag.
    const { length } = Array.from(name);
    const fits = length >= Number(schema['minLength']) && length <= Number(schema['maxLength']);
    for (const flags of ['', 'u']) {
      expect(fits && new RegExp(String(schema['pattern']), flags).test(name), flags).toBe(good);
    }
  });
});
