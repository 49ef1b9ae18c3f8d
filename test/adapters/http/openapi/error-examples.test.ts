import { expect, test } from 'vitest';
import openApi from '../../../../openapi.json' with { type: 'json' };
import type { ErrorCode } from '../../../../src/adapters/http/contract/errors.ts';
import {
  MAX_BODY_BYTES,
  MAX_HEADERS_BYTES,
  MAX_URL_BYTES,
} from '../../../../src/adapters/http/contract/limits.ts';
import { type Api, KEY, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { SERVICES } from '../services-of-errors.ts';

type Operation = { readonly method: string; readonly path: string };
type Answer = { readonly status: number; readonly body: string };

/** Every documented operation as a request. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  listPets: { method: 'GET', path: '/v1/pets' },
  createPet: { method: 'POST', path: '/v1/pets' },
  getPet: { method: 'GET', path: '/v1/pets/42' },
};

type Response = {
  readonly content: Record<string, { readonly examples: Record<string, { value: unknown }> }>;
};
type Documented = { readonly operationId: string; readonly responses: Record<string, object> };

const responses = openApi.components.responses as unknown as Record<string, Response>;

/** Every error example of every operation. */
const EXAMPLES = Object.values(openApi.paths).flatMap((item) =>
  Object.entries(item as Record<string, unknown>)
    .filter(([method]) => method === 'get' || method === 'post')
    .flatMap(([, operation]) => {
      const { operationId, responses: documented } = operation as Documented;
      return Object.entries(documented)
        .filter(([status]) => Number(status) >= 400)
        .flatMap(([status, response]) => {
          const { $ref } = response as { readonly $ref?: string };
          const { content } =
            $ref === undefined ? (response as Response) : responses[$ref.split('/').at(-1)!]!;
          return Object.entries(content['application/json']!.examples).map(
            ([code, { value }]) => [operationId, code as ErrorCode, Number(status), value] as const,
          );
        });
    }),
);

type Given = NonNullable<Parameters<Api['request']>[2]> & Parameters<typeof startApi>[0];

/** The answer to this request, with valid headers and a valid body where nothing else is given. */
async function ask({ method, path }: Operation, given: Given = {}): Promise<Answer> {
  const { headers, body = method === 'POST' ? petBody() : undefined, ...options } = given;
  await using api = await startApi(options);
  const sent = { headers: { 'content-type': 'application/json', ...headers } };
  return await api.request(method, path, body === undefined ? sent : { ...sent, body });
}

/** The only answer to these bytes. */
async function askRaw(bytes: string, options: Parameters<typeof startApi>[0] = {}): Promise<Answer> {
  await using api = await startApi(options);
  const connection = await api.connect(bytes);
  return await connection.answer();
}

/** A request that breaks a rule of this operation. */
const INVALID: Readonly<Record<string, (operation: Operation) => Promise<Answer>>> = {
  listPets: (operation) => ask({ ...operation, path: '/v1/pets?limit=101&page=2' }),
  createPet: (operation) => ask(operation, { body: '{"name":"","status":"asleep"}' }),
  getPet: (operation) => ask({ ...operation, path: '/v1/pets/042' }),
};

const CAUSES: Readonly<
  Record<
    Exclude<ErrorCode, 'ROUTE_NOT_FOUND'>,
    (operation: Operation, operationId: string) => Promise<Answer>
  >
> = {
  INVALID_ARGUMENT: (operation, operationId) => INVALID[operationId]!(operation),
  MALFORMED_JSON: (operation) => ask(operation, { body: '{"name": "Rex"' }),
  INVALID_CURSOR: (operation) => ask({ ...operation, path: '/v1/pets?cursor=page-2' }),
  INVALID_IDEMPOTENCY_KEY: (operation) => ask(operation, { headers: { 'idempotency-key': 'x'.repeat(256) } }),
  UNAUTHENTICATED: (operation) => ask(operation, { headers: { authorization: 'Bearer wrong' } }),
  PERMISSION_DENIED: (operation) => ask(operation, SERVICES.PERMISSION_DENIED),
  PET_NOT_FOUND: (operation) => ask(operation),
  METHOD_NOT_ALLOWED: (operation) => ask({ ...operation, method: 'DELETE' }),
  REQUEST_TIMEOUT: ({ method, path }) => askRaw(`${method} ${path} HTTP/1.1\r\n`, SERVICES.REQUEST_TIMEOUT),
  GONE: (operation) => ask(operation, SERVICES.GONE),
  PAYLOAD_TOO_LARGE: ({ method, path }) =>
    method === 'POST'
      ? ask({ method, path }, { body: 'x'.repeat(MAX_BODY_BYTES + 1) })
      : askRaw(
          `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
            `Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`,
        ),
  URI_TOO_LONG: (operation) => ask({ ...operation, path: `${operation.path}?${'x'.repeat(MAX_URL_BYTES)}` }),
  UNSUPPORTED_MEDIA_TYPE: (operation) => ask(operation, { headers: { 'content-type': 'text/plain' } }),
  IDEMPOTENCY_KEY_REUSED: async () => {
    await using api = await startApi();
    const key = { 'idempotency-key': 'once' };
    await api.post(petBody(), key);
    return await api.post(petBody({ name: '"Tom"' }), key);
  },
  RATE_LIMITED: (operation) => ask(operation, SERVICES.RATE_LIMITED),
  HEADERS_TOO_LARGE: (operation) => ask(operation, { headers: { 'x-long': 'x'.repeat(MAX_HEADERS_BYTES) } }),
  INTERNAL: (operation) => ask(operation, SERVICES.INTERNAL),
  UNAVAILABLE: (operation) => ask(operation, SERVICES.UNAVAILABLE),
};

test.each(EXAMPLES)(
  '%s: the example of %s is what the service answers',
  async (id, code, documented, example) => {
    const cause = CAUSES[code as keyof typeof CAUSES];
    const { status, body } = await cause(OPERATIONS[id]!, id);
    expect({ status, body: JSON.parse(body) as unknown }).toStrictEqual({
      status: documented,
      body: example,
    });
  },
);

test('there is an example of every code, and a cause for every operation', () => {
  expect(new Set(EXAMPLES.map(([, code]) => code))).toStrictEqual(new Set(Object.keys(CAUSES)));
  expect(new Set(EXAMPLES.map(([id]) => id))).toStrictEqual(new Set(Object.keys(OPERATIONS)));
});
