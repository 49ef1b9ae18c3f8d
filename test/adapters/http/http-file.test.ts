import { afterAll, expect, test } from 'vitest';
import openApi from '../../../openapi.json' with { type: 'json' };
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { readDocument } from '../../support/document.ts';
import { KEY, startApi } from '../../support/http.ts';
import { FailingPetRepository } from '../../support/pets.ts';

const [head = '', ...requests] = (await readDocument('examples/petstore.http')).split(/^### /m);

const variables = new Map(Array.from(head.matchAll(/^@(\w+) = (.+)$/gm), ([, name, value]) => [name, value]));
variables.set('url', '').set('key', KEY);

/** Each request of the file, with its title. */
const REQUESTS = requests.map((request) => {
  const filled = request.replaceAll(/\{\{(\w+)\}\}/g, (_all, name) => variables.get(name)!);
  const [above = '', body] = filled.trimEnd().split('\n\n');
  const [title = '', line = '', ...headers] = above.split('\n').filter((text) => !text.startsWith('# '));
  const [name = '', status] = title.split(': ');
  const [method = '', path = ''] = line.split(' ');
  const fields = headers.map((header) => header.split(': ', 2));
  const given = { authorization: undefined, ...Object.fromEntries(fields) };
  return { name, status: Number(status), method, path, headers: given, body };
});

/** Services in which these requests get their answers. */
const SERVICES: Readonly<Record<string, Parameters<typeof startApi>[0]>> = {
  PERMISSION_DENIED: {
    tokens: new InMemoryTokenVerifier([knownKey({ label: 'reader', token: KEY, scopes: ['pets:read'] })]),
  },
  REQUEST_TIMEOUT: { limits: { headersTimeoutMs: 50, requestTimeoutMs: 50 } },
  GONE: { now: () => new Date('2030-12-05T00:00:00Z') },
  RATE_LIMITED: {
    rateLimit: { requests: 1, seconds: 3600 },
    limiter: { take: async () => ({ allowed: false, remaining: 0, resetSeconds: 3600 }) },
  },
  INTERNAL: { pets: new FailingPetRepository(new Error('a bug')) },
  UNAVAILABLE: { pets: new FailingPetRepository(new StorageUnavailable('no answer')) },
};

const all = await startApi();
afterAll(() => all.close());

test.each(REQUESTS)('$method for $name: $status', async ({ name, method, path, headers, body, status }) => {
  await using own = SERVICES[name] && (await startApi(SERVICES[name]));
  const answer = await (own ?? all).request(method, path, { headers, ...(body && { body }) });
  const { code = name } = JSON.parse(answer.body);
  expect({ status: answer.status, code }, answer.body).toStrictEqual({ status, code: name });
});

test('there is a request for every operation and every error of the document', () => {
  const operations = JSON.stringify(openApi).matchAll(/"operationId":"(\w+)"/g);
  const codes = openApi.components.schemas.Error.properties.code['x-extensible-enum'];
  const names = [...Array.from(operations, ([, name]) => name), ...codes];
  expect(new Set(REQUESTS.map(({ name }) => name))).toStrictEqual(new Set(names));
});
