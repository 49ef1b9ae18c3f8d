import { expect, test } from 'vitest';
import type { FuzzCase } from './fuzz-case.ts';
import type { ConnectionRecord } from './fuzz-client.ts';
import { FUZZ_KEY, FUZZ_LIMITS, LINGER_MS } from './fuzz-limits.ts';
import { judge } from './judge.ts';

const HEADERS = `Host: x\r\nAuthorization: Bearer ${FUZZ_KEY}\r\n`;
const request = (id: string, requestLine: string, lines = '') =>
  `${requestLine} HTTP/1.1\r\n${HEADERS}X-Request-Id: ${id}\r\n${lines}\r\n`;
const livez = request('a', 'GET /livez');
const livezB = request('b', 'GET /livez');
const closingGet = request('a', 'GET /livez', 'Connection: close\r\n');
const listAll = request('a', 'GET /v1/pets');
const listSold = request('a', 'GET /v1/pets?limit=1&status=sold');
const getPet = request('a', 'GET /v1/pets/4');
const wrongList = request('a', 'GET /v1/pets?limit=0');
const smuggling = request('a', 'GET /livez', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n') + livez;
const pet = '{"name":"Rex","categoryId":7}';
const create =
  request('a', 'POST /v1/pets', `Content-Type: application/json\r\nContent-Length: ${pet.length}\r\n`) + pet;

/** An X-Request-Id that the service has made itself. */
const MADE_ID = '6f1d8c1e-8a0b-4c55-9d5a-0f8f9f1c2b3a';
const CLOSE = 'Connection: close\r\n';
const DEPRECATED =
  'Deprecation: @1795132800\r\nSunset: Thu, 05 Dec 2030 00:00:00 GMT\r\n' +
  'Link: <http://x/docs#getPet>; rel="deprecation"; type="text/html"\r\n';

function answer(
  status: string,
  body: string,
  { id = 'a', lines = '', length = Buffer.byteLength(body) } = {},
): string {
  const headers = [
    `X-Request-Id: ${id}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${length}`,
  ];
  return `HTTP/1.1 ${status}\r\n${headers.map((line) => `${line}\r\n`).join('')}${lines}\r\n${body}`;
}

const ok = (parts: Parameters<typeof answer>[2] = {}) => answer('200 OK', '{"status":"ok"}', parts);
const page = (...pets: string[]) => answer('200 OK', `[${pets.join()}]`);
const created = (json?: string) => answer('201 Created', rex(json), { lines: 'Location: /v1/pets/3\r\n' });
const rex = (fields = '"categoryId":7,"status":"available"') => `{"id":3,"name":"Rex",${fields}}`;
function error(status: string, code: string, parts: Parameters<typeof answer>[2] = {}, message = 'why') {
  return answer(status, JSON.stringify({ code, message, status: Number(status.slice(0, 3)) }), parts);
}

const error400 = (code: string, message?: string) => error('400 Bad Request', code, {}, message);
const error500 = (code: string) => error('500 Internal Server Error', code);

function problemsOf(sent: string, received: string, record: Partial<ConnectionRecord> = {}) {
  const fuzzCase: FuzzCase = { steps: [{ on: 0, send: sent }] };
  const bytes = Buffer.from(received);
  return judge(fuzzCase, new Map([[0, { bytes, end: 'closed', openMs: 10, sendMs: 5, ...record }]])).problems;
}

// The tests of the corpus show that the judge accepts right answers.
test.each<[fault: string, problem: RegExp, sent: string, received: string, Partial<ConnectionRecord>?]>([
  ['a request without an answer', /0 of 1 answers: none to GET \/livez/, livez, ''],
  ['one answer to two requests', /1 of 2 answers/, livez + livez, ok()],
  ['two answers to one request', /no request is left/, livez, ok().repeat(2)],
  ['a connection that the service leaves open', /does not close/, livez, ok(), { end: 'hangs' }],
  ['an incomplete answer', /incomplete/, livez, ok().slice(0, -1)],
  ['an answer with 500', /the status is a 5xx/, listSold, error500('INTERNAL')],
  ['a wrong status line', /not a status line/, livez, ok().replace('1.1', '1.0')],
  ['a repeated header', /sent twice/, livez, ok({ lines: 'X-Request-Id: a\r\n' })],
  ['a folded header', /not a header/, livez, ok({ lines: ' folded\r\n' })],
  ['a missing Content-Length', /without Content-Length/, livez, ok().replace(/Content-Length.*\r\n/, '')],
  ['a wrong Content-Length', /not a status line|bytes after|incomplete/, livez, ok({ length: 5 })],
  ['a body that is not JSON', /not JSON/, listSold, page('x')],
  ['a body that breaks its schema', /id/, listSold, page('{"name":"Rex"}')],
  ['a code that does not belong to the status', /goes with 400/, listSold, error500('INVALID_ARGUMENT')],
  ['a wrong code with the right status', /INVALID_ARG/, wrongList, error400('INVALID_CURSOR', 'limit')],
  ['an error that does not name the parameter', /limit/, wrongList, error400('INVALID_ARGUMENT')],
  ['the answer to another request', /wrong X-Request-Id b/, livez, ok({ id: 'b' })],
  ['answers in the wrong order', /wrong X-Request-Id b/, livez + livezB, ok({ id: 'b' }) + ok()],
  ['a new id in place of a valid one', /wrong X-Request-Id 6f/, livez, ok({ id: MADE_ID })],
  ['200 to an invalid query', /expected 400/, wrongList, page()],
  ['400 to a valid query', /expected 200/, listSold, error400('INVALID_ARGUMENT')],
  ['a page that is too long', /too long/, listSold, page(rex(), rex().replace('3', '4'))],
  ['a page with a pet of another status', /status of the query/, listSold, page(rex())],
  ['a page whose ids do not increase', /do not increase/, listAll, page(rex(), rex())],
  ['a wrong pet', /id of the pet/, getPet, answer('200 OK', rex(), { lines: DEPRECATED })],
  ['a pet with wrong content', /expected the pet/, create, created('"categoryId":8,"status":"available"')],
  ['201 to an incomplete body', /body is incomplete/, create.slice(0, -1), created()],
  ['an answer after "Connection: close"', /after "Connection: close"/, livez, ok({ lines: CLOSE }).repeat(2)],
  ['a needless "Connection: close"', /must stay open/, livez, ok({ lines: CLOSE })],
  ['a missing "Connection: close"', /must close/, closingGet, ok()],
  ['200 to input that is not HTTP', /not valid HTTP/, 'rubbish', ok({ id: MADE_ID, lines: CLOSE })],
  ['a 100 without Expect', /100 to GET/, livez, `HTTP/1.1 100 Continue\r\n\r\n${ok()}`],
  ['an answer to a smuggled request', /not valid HTTP|no request/, smuggling, ok().repeat(2)],
])('the judge reports %s', (_, problem, sent, received, record) => {
  expect(problemsOf(sent, received, record).join('\n')).toMatch(problem);
});

test('the judge accepts a 408 to an unfinished request only after the time limit', () => {
  const timeout = error('408 Request Timeout', 'REQUEST_TIMEOUT', { id: MADE_ID, lines: CLOSE });
  expect(problemsOf('GET /', timeout).join('\n')).toMatch(/the time limit was not over/);
  const openMs = FUZZ_LIMITS.headersTimeoutMs;
  expect(problemsOf('GET /', timeout, { openMs })).toStrictEqual([]);
  expect(problemsOf('', timeout, { openMs })).toStrictEqual([]);
  expect(problemsOf(livez, ok() + timeout, { openMs }).join('\n')).toMatch(/no request is left/);
});

test('the judge accepts a missing answer only if the client itself can be the cause', () => {
  const { headersTimeoutMs } = FUZZ_LIMITS;
  expect(problemsOf(livez, ok().slice(0, 20), { end: 'reset by the client' })).toStrictEqual([]);
  expect(problemsOf(livez + livez, '', { sendMs: headersTimeoutMs - 1 })).toHaveLength(1);
  expect(problemsOf(livez + livez, '', { sendMs: headersTimeoutMs })).toStrictEqual([]);
  expect(problemsOf(closingGet, '', { sendMs: LINGER_MS - 1 })).toHaveLength(1);
  expect(problemsOf(livez, '', { sendMs: LINGER_MS })).toHaveLength(1);
  expect(problemsOf(`rubbish\r\n${livez}`, '', { sendMs: LINGER_MS - 1 })).toHaveLength(1);
  expect(problemsOf(`rubbish\r\n${livez}`, '', { sendMs: LINGER_MS })).toStrictEqual([]);
  expect(problemsOf(closingGet + livez, '')).toStrictEqual([]);
  expect(problemsOf(livez.slice(0, -2), '')).toStrictEqual([]);
  expect(problemsOf(livez + livez.slice(0, -2), '')).toHaveLength(1);
  expect(problemsOf(livez + request('c', 'CONNECT x:1'), '')).toStrictEqual([]);
});
