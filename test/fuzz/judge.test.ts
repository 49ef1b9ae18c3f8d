import { describe, expect, test } from 'vitest';
import { FUZZ_KEY, FUZZ_LIMITS, LINGER_MS } from './fuzz-limits.ts';
import type { FuzzCase } from './fuzz-case.ts';
import type { Seen } from './fuzz-client.ts';
import { judge } from './judge.ts';

const HEAD = `Host: x\r\nAuthorization: Bearer ${FUZZ_KEY}\r\n`;
const request = (id: string, line: string, more = '') =>
  `${line} HTTP/1.1\r\n${HEAD}X-Request-Id: ${id}\r\n${more}\r\n`;
const livez = request('a', 'GET /livez');
const list = request('a', 'GET /v1/pets?limit=1&status=sold');
const pet = '{"name":"Rex","categoryId":7}';
const create =
  request('a', 'POST /v1/pets', `Content-Type: application/json\r\nContent-Length: ${pet.length}\r\n`) + pet;

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  400: 'Bad Request',
  500: 'Internal Server Error',
};

function answer(
  status: number,
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
  return `HTTP/1.1 ${status} ${REASONS[status]}\r\n${headers.map((line) => `${line}\r\n`).join('')}${more}\r\n${body}`;
}

const OK = '{"status":"ok"}';
const error = (status: number, code: string) => JSON.stringify({ code, message: 'why', status });
const rex = (fields = '"categoryId":7,"status":"available"') => `{"id":3,"name":"Rex",${fields}}`;
const DEPRECATED =
  'Deprecation: @1795132800\r\nSunset: Thu, 05 Dec 2030 00:00:00 GMT\r\n' +
  'Link: <http://x/docs#getPet>; rel="deprecation"; type="text/html"\r\n';
const CLOSE = 'Connection: close\r\n';

function problemsOf(
  sent: string,
  received: string,
  end: Partial<Seen> & { close?: 'reset' } = {},
): readonly string[] {
  const { close, ...seen } = end;
  const steps = [{ on: 0, send: sent }, ...(close === undefined ? [] : [{ on: 0, close }])];
  const bytes = Buffer.from(received);
  const fuzzCase: FuzzCase = { steps };
  return judge(fuzzCase, new Map([[0, { bytes, end: 'closed', openMs: 10, sendMs: 5, ...seen }]])).problems;
}

describe('no problem', () => {
  test.each<[string, string, string, Partial<Seen>?]>([
    ['a right answer', livez, answer(200, OK)],
    ['two', livez + request('b', 'GET /livez'), answer(200, OK) + answer(200, OK, { id: 'b' })],
    ['a page', list, answer(200, `[${rex('"categoryId":7,"status":"sold"')}]`)],
    ['a created pet', create, answer(201, rex(), { more: 'Location: /v1/pets/3\r\n' })],
    [
      'bytes that are not HTTP',
      'rubbish',
      answer(400, error(400, 'INVALID_ARGUMENT'), { id: MADE(), more: CLOSE }),
    ],
    ['a client that leaves', livez, answer(200, OK).slice(0, 20), { end: 'reset by the client' }],
    [
      'the end after "close"',
      `GET /livez HTTP/1.0\r\n\r\n${livez}`,
      answer(200, OK, { id: MADE(), more: CLOSE }),
    ],
  ])('%s', (_, sent, received, end = {}) => {
    expect(problemsOf(sent, received, end)).toStrictEqual([]);
  });
});

function MADE(): string {
  return '6f1d8c1e-8a0b-4c55-9d5a-0f8f9f1c2b3a';
}

describe('a problem', () => {
  test.each<[string, RegExp, string, string, Partial<Seen>?]>([
    ['no answer', /0 of 1 answers: none to GET \/livez/, livez, ''],
    ['one answer to two requests', /1 of 2 answers/, livez + livez, answer(200, OK)],
    ['two answers to one request', /there was no further request/, livez, answer(200, OK).repeat(2)],
    ['a connection that stays open', /does not close it/, livez, answer(200, OK), { end: 'hangs' }],
    ['half an answer', /half an answer/, livez, answer(200, OK).slice(0, -1)],
    ['500', /blames itself/, list, answer(500, error(500, 'INTERNAL'))],
    ['a status line of its own', /not a status line/, livez, answer(200, OK).replace('1.1', '1.0')],
    ['a header twice', /sent twice/, livez, answer(200, OK, { more: 'X-Request-Id: a\r\n' })],
    ['a folded header', /not a header/, livez, answer(200, OK, { more: ' folded\r\n' })],
    ['no length', /without Content-Length/, livez, answer(200, OK).replace(/Content-Length.*\r\n/, '')],
    ['a body that is too long', /not a status line|bytes after|half/, livez, answer(200, OK, { length: 5 })],
    ['a body that is not JSON', /not JSON/, list, answer(200, '[x]')],
    ['a body that is not that of the operation', /id/, list, answer(200, '[{"name":"Rex"}]')],
    ['a code with another status', /goes with 400/, list, answer(500, error(500, 'INVALID_ARGUMENT'))],
    ['the answer to another request', /the answer to b/, livez, answer(200, OK, { id: 'b' })],
    [
      'answers in the wrong order',
      /the answer to b/,
      livez + request('b', 'GET /livez'),
      answer(200, OK, { id: 'b' }) + answer(200, OK),
    ],
    ['a made id for a good one', /the answer to 6f/, livez, answer(200, OK, { id: MADE() })],
    ['200 to a wrong query', /expected 400/, request('a', 'GET /v1/pets?limit=0'), answer(200, '[]')],
    ['400 to a good query', /expected 200/, list, answer(400, error(400, 'INVALID_ARGUMENT'))],
    ['a page that is too long', /too long/, list, answer(200, `[${rex()},${rex().replace('3', '4')}]`)],
    ['a page with another status', /another status/, list, answer(200, `[${rex()}]`)],
    [
      'a page in disorder',
      /do not increase/,
      request('a', 'GET /v1/pets'),
      answer(200, `[${rex()},${rex()}]`),
    ],
    ['another pet', /another pet/, request('a', 'GET /v1/pets/4'), answer(200, rex(), { more: DEPRECATED })],
    [
      'a pet with other content',
      /expected the pet/,
      create,
      answer(201, rex('"categoryId":8,"status":"available"')),
    ],
    ['201 to half a body', /body is incomplete/, create.slice(0, -1), answer(201, rex())],
    [
      'a request in an answered "close"',
      /after "Connection: close"/,
      livez,
      answer(200, OK, { more: CLOSE }).repeat(2),
    ],
    ['a needless "close"', /the connection ends/, livez, answer(200, OK, { more: CLOSE })],
    [
      'no "close" where it is due',
      /stays open/,
      livez.replace('Host', 'Connection: close\r\nHost'),
      answer(200, OK),
    ],
    ['200 to what is not HTTP', /not valid HTTP/, 'rubbish', answer(200, OK, { id: MADE(), more: CLOSE })],
    ['100 without being asked', /100 to GET/, livez, `HTTP/1.1 100 Continue\r\n\r\n${answer(200, OK)}`],
    [
      'a smuggled request',
      /not valid HTTP|no further request/,
      request('a', 'GET /livez', 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n') + livez,
      answer(200, OK).repeat(2),
    ],
  ])('%s', (_, problem, sent, received, end = {}) => {
    expect(problemsOf(sent, received, end).join('\n')).toMatch(problem);
  });

  test('a timeout that comes too early', () => {
    const late = answer(400, error(408, 'REQUEST_TIMEOUT'), { id: MADE(), more: CLOSE }).replace(
      /400 Bad Request/,
      '408 Request Timeout',
    );
    expect(problemsOf('GET /', late).join('\n')).toMatch(/it had more time/);
    const openMs = FUZZ_LIMITS.headersTimeoutMs;
    expect(problemsOf('GET /', late, { openMs })).toStrictEqual([]);
    expect(problemsOf('', late, { openMs })).toStrictEqual([]);
    expect(problemsOf(livez, answer(200, OK) + late, { openMs }).join('\n')).toMatch(/no further request/);
  });

  test('a missing answer, except to a client that was late itself', () => {
    const { headersTimeoutMs } = FUZZ_LIMITS;
    expect(problemsOf(livez + livez, '', { sendMs: headersTimeoutMs - 1 })).toHaveLength(1);
    expect(problemsOf(livez + livez, '', { sendMs: headersTimeoutMs })).toStrictEqual([]);
    const closing = livez.replace('Host', 'Connection: close\r\nHost');
    expect(problemsOf(closing, '', { sendMs: LINGER_MS - 1 })).toHaveLength(1);
    expect(problemsOf(livez, '', { sendMs: LINGER_MS })).toHaveLength(1);
    expect(problemsOf(closing, '', { sendMs: LINGER_MS })).toStrictEqual([]);
  });
});
