import { afterAll, expect, test } from 'vitest';
import openApi from '../../../openapi.json' with { type: 'json' };
import { readDocument } from '../../support/document.ts';
import { KEY, startApi } from '../../support/http.ts';
import { SERVICES } from './services-of-errors.ts';

const [head = '', ...requests] = (await readDocument('examples/petstore.http')).split(/^### /m);

const variables = new Map(Array.from(head.matchAll(/^@(\w+) = (.+)$/gm), ([, name, value]) => [name, value]));
variables.set('url', '').set('key', KEY);

/** The requests of the file. `name` is the operation or error code in the title of the request, `status` its status. */
const REQUESTS = requests.map((request) => {
  const filledRequest = request.replaceAll(/\{\{(\w+)\}\}/g, (_all, name) => variables.get(name)!);
  const [headLines = '', body] = filledRequest.trimEnd().split('\n\n');
  const [title = '', line = '', ...headers] = headLines.split('\n').filter((text) => !text.startsWith('# '));
  const [name = '', status] = title.split(': ');
  const [method = '', path = ''] = line.split(' ');
  const fields = headers.map((header) => header.split(': ', 2));
  const requestHeaders = { authorization: undefined, ...Object.fromEntries(fields) };
  return { name, status: Number(status), method, path, headers: requestHeaders, body };
});

const sharedApi = await startApi();
afterAll(() => sharedApi.close());

test.each(REQUESTS)('$name returns $status', async ({ name, method, path, headers, body, status }) => {
  await using ownApi = name in SERVICES ? await startApi(SERVICES[name as keyof typeof SERVICES]) : undefined;
  const answer = await (ownApi ?? sharedApi).request(method, path, { headers, ...(body && { body }) });
  const { code = name } = JSON.parse(answer.body);
  expect({ status: answer.status, code }, answer.body).toStrictEqual({ status, code: name });
});

test('the HTTP file has a request for every operation and every error of the document', () => {
  const operations = JSON.stringify(openApi).matchAll(/"operationId":"(\w+)"/g);
  const codes = openApi.components.schemas.Error.properties.code['x-extensible-enum'];
  const names = [...Array.from(operations, ([, name]) => name), ...codes];
  expect(new Set(REQUESTS.map(({ name }) => name))).toStrictEqual(new Set(names));
});
