import { expect, test } from 'vitest';
import openApi from '../../../../openapi.json' with { type: 'json' };
import type { ErrorCode } from '../../../../src/adapters/http/contract/errors.ts';
import {
  MAX_BODY_BYTES,
  MAX_HEADERS_BYTES,
  MAX_URL_BYTES,
} from '../../../../src/adapters/http/contract/limits.ts';
import { KEY, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { SERVICES } from '../services-of-errors.ts';

type Example = { readonly value: { readonly code: ErrorCode; readonly status: number } };
type Response = {
  readonly $ref?: string;
  readonly content: { readonly 'application/json': { readonly examples: Record<string, Example> } };
};
type DocumentedOperation = { readonly operationId: string; readonly responses: Record<string, Response> };

const sharedResponses = openApi.components.responses as unknown as Record<string, Response>;

/** Every error example in the document, with its operation and its error code. */
const EXAMPLES = Object.values(openApi.paths)
  .flatMap((item) => Object.values(item) as unknown as DocumentedOperation[])
  .flatMap(({ operationId, responses }) =>
    Object.values(responses)
      .map((response) => sharedResponses[response.$ref?.split('/').at(-1) ?? ''] ?? response)
      .flatMap(({ content }) => Object.values(content['application/json'].examples))
      .filter(({ value }) => 'code' in value)
      .map(({ value }) => [operationId, value.code, value] as const),
  );

/** The changes of a valid request, and of the options of the service, that cause an error. */
type Cause = Parameters<typeof startApi>[0] & {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  /** Bytes after the request line, instead of a complete request. */
  readonly bytes?: string;
};

const TOO_LONG = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}`;

/** A valid request for each operation. `own` replaces causes of `CAUSES` for this operation. */
const OPERATIONS: Readonly<Record<string, Cause & { readonly own: Partial<Record<ErrorCode, Cause>> }>> = {
  listPets: {
    path: '/v1/pets',
    own: { INVALID_ARGUMENT: { query: '?limit=101&page=2' }, PAYLOAD_TOO_LARGE: { bytes: TOO_LONG } },
  },
  createPet: {
    method: 'POST',
    path: '/v1/pets',
    body: petBody(),
    own: { INVALID_ARGUMENT: { body: '{"name":"","status":"asleep"}' } },
  },
  getPet: {
    path: '/v1/pets/42',
    own: { INVALID_ARGUMENT: { path: '/v1/pets/042' }, PAYLOAD_TOO_LARGE: { bytes: TOO_LONG } },
  },
};

const CAUSES: Readonly<Record<Exclude<ErrorCode, 'ROUTE_NOT_FOUND'>, Cause>> = {
  ...SERVICES,
  INVALID_ARGUMENT: {},
  MALFORMED_JSON: { body: '{"name": "Rex"' },
  INVALID_CURSOR: { query: '?cursor=page-2' },
  INVALID_IDEMPOTENCY_KEY: { headers: { 'idempotency-key': 'x'.repeat(256) } },
  UNAUTHENTICATED: { headers: { authorization: 'Bearer wrong' } },
  PET_NOT_FOUND: {},
  METHOD_NOT_ALLOWED: { method: 'DELETE' },
  REQUEST_TIMEOUT: { ...SERVICES.REQUEST_TIMEOUT, bytes: '' },
  PAYLOAD_TOO_LARGE: { body: 'x'.repeat(MAX_BODY_BYTES + 1) },
  URI_TOO_LONG: { query: `?${'x'.repeat(MAX_URL_BYTES)}` },
  UNSUPPORTED_MEDIA_TYPE: { headers: { 'content-type': 'text/plain' } },
  IDEMPOTENCY_KEY_REUSED: { headers: { 'idempotency-key': 'once' }, body: petBody({ name: '"Tom"' }) },
  HEADERS_TOO_LARGE: { headers: { 'x-long': 'x'.repeat(MAX_HEADERS_BYTES) } },
};

test.each(EXAMPLES)('a request to %s is answered with the example of %s', async (id, code, example) => {
  const { own, ...request } = OPERATIONS[id]!;
  const cause = { ...request, ...CAUSES[code as keyof typeof CAUSES], ...own[code] };
  const { method = 'GET', path, query = '', headers, body, bytes, ...options } = cause;
  await using api = await startApi(options);
  await api.post(petBody(), { 'idempotency-key': 'once' });
  const requestParts = { headers: { 'content-type': 'application/json', ...headers }, ...(body && { body }) };
  const answer =
    bytes === undefined
      ? await api.request(method, path + query, requestParts)
      : await (await api.connect(`${method} ${path} HTTP/1.1\r\n${bytes}`)).answer();
  expect({ status: answer.status, body: JSON.parse(answer.body) }).toStrictEqual({
    status: example.status,
    body: example,
  });
});

test('the OpenAPI document has an example of every error code, and examples for every operation', () => {
  expect(new Set(EXAMPLES.map(([, code]) => code))).toStrictEqual(new Set(Object.keys(CAUSES)));
  expect(new Set(EXAMPLES.map(([id]) => id))).toStrictEqual(new Set(Object.keys(OPERATIONS)));
});
