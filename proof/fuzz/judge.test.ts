import { expect, test } from 'vitest';
import type { FuzzCase } from './fuzz-case.ts';
import type { Seen } from './fuzz-client.ts';
import { FUZZ_KEY, FUZZ_LIMITS, LINGER_MS } from './fuzz-limits.ts';
import { judge } from './judge.ts';

const HEAD = `Host: x\r\nAuthorization: Bearer ${FUZZ_KEY}\r\n`;
const request = (id: string, line: string, more = '') =>
  `${line} HTTP/1.1\r\n${HEAD}X-Request-Id: ${id}\r\n${more}\r\n`;
const livez = request('a', 'GET /livez');
const livezB = request('b', 'GET /livez');
const closing = request('a', 'GET /livez', 'Connection: close\r\n');
const all = request('a', 'GET /v1/pets');
const list = request('a', 'GET /v1/pets?limit=1&status=sold');
const otherPet = request('a', 'GET /v1/pets/4');
const wrongList = request('a', 'GET /v1/pets?limit=0');
const smuggling = request('a', 'GET /livez', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n') + livez;
const pet = '{"name":"Rex","categoryId":7}';
const create =
  request('a', 'POST /v1/pets', `Content-Type: application/json\r\nContent-Length: ${pet.length}\r\n`) + pet;

/** An id that the service has made. */
const MADE = '6f1d8c1e-8a0b-4c55-9d5a-0f8f9f1c2b3a';
const CLOSE = 'Connection: close\r\n';
const DEPRECATED =
  'Deprecation: @1795132800\r\nSunset: Thu, 05 Dec 2030 00:00:00 GMT\r\n' +
  'Link: <http://x/docs#getPet>; rel="deprecation"; type="text/html"\r\n';

function answer(
  status: string,
  body: string,
  { id = 'a', more = '', length = Buffer.byteLength(body) } = {},
): string {
  const headers = [
    `X-Request-Id: ${id}`,
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${length}`,
  ];
  return `HTTP/1.1 ${status}\r\n${headers.map((line) => `${line}\r\n`).join('')}${more}\r\n${body}`;
}

const ok = (more: Parameters<typeof answer>[2] = {}) => answer('200 OK', '{"status":"ok"}', more);
const page = (...pets: string[]) => answer('200 OK', `[${pets.join()}]`);
const created = (fields?: string) => answer('201 Created', rex(fields), { more: 'Location: /v1/pets/3\r\n' });
const rex = (fields = '"categoryId":7,"status":"available"') => `{"id":3,"name":"Rex",${fields}}`;
function error(line: string, code: string, more: Parameters<typeof answer>[2] = {}, message = 'why'): string {
  return answer(line, JSON.stringify({ code, message, status: Number(line.slice(0, 3)) }), more);
}

const refusal = (code: string, message?: string) => error('400 Bad Request', code, {}, message);
const failure = (code: string) => error('500 Internal Server Error', code);

function problemsOf(sent: string, received: string, seen: Partial<Seen> = {}): readonly string[] {
  const fuzzCase: FuzzCase = { steps: [{ on: 0, send: sent }] };
  const bytes = Buffer.from(received);
  return judge(fuzzCase, new Map([[0, { bytes, end: 'closed', openMs: 10, sendMs: 5, ...seen }]])).problems;
}

// What is right is in the corpus.
test.each<[fault: string, problem: RegExp, sent: string, received: string, seen?: Partial<Seen>]>([
  ['no answer', /0 of 1 answers: none to GET \/livez/, livez, ''],
  ['one answer to two requests', /1 of 2 answers/, livez + livez, ok()],
  ['two answers to one request', /there was no further request/, livez, ok().repeat(2)],
  ['a connection that stays open', /does not close it/, livez, ok(), { end: 'hangs' }],
  ['half an answer', /half an answer/, livez, ok().slice(0, -1)],
  ['500', /blames itself/, list, failure('INTERNAL')],
  ['a status line of its own', /not a status line/, livez, ok().replace('1.1', '1.0')],
  ['a header twice', /sent twice/, livez, ok({ more: 'X-Request-Id: a\r\n' })],
  ['a folded header', /not a header/, livez, ok({ more: ' folded\r\n' })],
  ['no length', /without Content-Length/, livez, ok().replace(/Content-Length.*\r\n/, '')],
  ['a body that is too long', /not a status line|bytes after|half/, livez, ok({ length: 5 })],
  ['a body that is not JSON', /not JSON/, list, page('x')],
  ['a body that is not that of the operation', /id/, list, page('{"name":"Rex"}')],
  ['a code with another status', /goes with 400/, list, failure('INVALID_ARGUMENT')],
  ['another code of this status', /INVALID_ARG/, wrongList, refusal('INVALID_CURSOR', 'limit')],
  ['an error that does not name it', /limit/, wrongList, refusal('INVALID_ARGUMENT')],
  ['the answer to another request', /the answer to b/, livez, ok({ id: 'b' })],
  ['answers in the wrong order', /the answer to b/, livez + livezB, ok({ id: 'b' }) + ok()],
  ['a made id for a good one', /the answer to 6f/, livez, ok({ id: MADE })],
  ['200 to a wrong query', /expected 400/, wrongList, page()],
  ['400 to a good query', /expected 200/, list, refusal('INVALID_ARGUMENT')],
  ['a page that is too long', /too long/, list, page(rex(), rex().replace('3', '4'))],
  ['a page with another status', /another status/, list, page(rex())],
  ['a page in disorder', /do not increase/, all, page(rex(), rex())],
  ['another pet', /another pet/, otherPet, answer('200 OK', rex(), { more: DEPRECATED })],
  ['a pet with other content', /expected the pet/, create, created('"categoryId":8,"status":"available"')],
  ['201 to half a body', /body is incomplete/, create.slice(0, -1), created()],
  ['a request in an answered "close"', /after "Connection: close"/, livez, ok({ more: CLOSE }).repeat(2)],
  ['a needless "close"', /the connection ends/, livez, ok({ more: CLOSE })],
  ['no "close" where it is due', /stays open/, closing, ok()],
  ['200 to what is not HTTP', /not valid HTTP/, 'rubbish', ok({ id: MADE, more: CLOSE })],
  ['100 without being asked', /100 to GET/, livez, `HTTP/1.1 100 Continue\r\n\r\n${ok()}`],
  ['a smuggled request', /not valid HTTP|no further request/, smuggling, ok().repeat(2)],
])('the judge finds %s', (_, problem, sent, received, seen) => {
  expect(problemsOf(sent, received, seen).join('\n')).toMatch(problem);
});

test('a timeout may not come too early', () => {
  const late = error('408 Request Timeout', 'REQUEST_TIMEOUT', { id: MADE, more: CLOSE });
  expect(problemsOf('GET /', late).join('\n')).toMatch(/it had more time/);
  const openMs = FUZZ_LIMITS.headersTimeoutMs;
  expect(problemsOf('GET /', late, { openMs })).toStrictEqual([]);
  expect(problemsOf('', late, { openMs })).toStrictEqual([]);
  expect(problemsOf(livez, ok() + late, { openMs }).join('\n')).toMatch(/no further request/);
});

test('an answer may be missing only to a client that left, or that was late itself', () => {
  const { headersTimeoutMs } = FUZZ_LIMITS;
  expect(problemsOf(livez, ok().slice(0, 20), { end: 'reset by the client' })).toStrictEqual([]);
  expect(problemsOf(livez + livez, '', { sendMs: headersTimeoutMs - 1 })).toHaveLength(1);
  expect(problemsOf(livez + livez, '', { sendMs: headersTimeoutMs })).toStrictEqual([]);
  expect(problemsOf(closing, '', { sendMs: LINGER_MS - 1 })).toHaveLength(1);
  expect(problemsOf(livez, '', { sendMs: LINGER_MS })).toHaveLength(1);
  expect(problemsOf(`rubbish\r\n${livez}`, '', { sendMs: LINGER_MS - 1 })).toHaveLength(1);
  expect(problemsOf(`rubbish\r\n${livez}`, '', { sendMs: LINGER_MS })).toStrictEqual([]);
  expect(problemsOf(closing + livez, '')).toStrictEqual([]);
  expect(problemsOf(livez.slice(0, -2), '')).toStrictEqual([]);
  expect(problemsOf(livez + livez.slice(0, -2), '')).toHaveLength(1);
  expect(problemsOf(livez + request('c', 'CONNECT x:1'), '')).toStrictEqual([]);
});
