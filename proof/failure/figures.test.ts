import { expect, it } from 'vitest';
import { type Figures, figures } from './figures.ts';
import type { Create, Get, History, Page, Sent, Wrong } from './history.ts';

const sent = (beginMs: number, endMs: number, rest: Partial<Sent> = {}): Sent => {
  return { beginMs, endMs, url: 'http://127.0.0.1/v1/pets', outcome: 'unknown', ...rest };
};
const attempt = (name: string, beginMs: number, endMs: number, rest: Partial<Create> = {}): Create => {
  return { type: 'create', ...sent(beginMs, endMs), content: name, body: '', ...rest };
};
const acknowledged = (beginMs: number, endMs: number): Create => {
  return attempt(`${beginMs} ${endMs}`, beginMs, endMs, { outcome: 'acknowledged', status: 201 });
};
const get = (status: number, apiKey?: string): Get => {
  return { type: 'get', id: 1, ...sent(0, 1, { status, ...(apiKey !== undefined && { apiKey }) }) };
};
const page = (status: number): Page => ({ type: 'page', after: 0, limit: 1, ...sent(0, 1, { status }) });
const wrong = (status: number): Wrong => ({ type: 'wrong', ...sent(0, 1, { status }) });
const unavailable = (retryAfter?: string): Create => {
  return attempt('a', 0, 1, { status: 503, ...(retryAfter !== undefined && { retryAfter }) });
};
const refused = { failure: 'ECONNREFUSED', outcome: 'refused' } as const;
const acknowledgedAt = (...times: number[]) => times.map((time) => acknowledged(time - 1, time));

it.each<[rule: string, calls: History['calls'], expected: Partial<Figures>, fault?: History['fault']]>([
  [
    'every attempt and each pet once; a refused connection is no request',
    [
      attempt('a', 0, 10, { status: 503, retryAfter: '2' }),
      attempt('a', 10, 15, { failure: 'ECONNRESET' }),
      attempt('b', 0, 15, { failure: 'ECONNRESET' }),
      attempt('a', 15, 20, refused),
      attempt('c', 15, 20, refused),
      attempt('a', 20, 30, { status: 201, outcome: 'acknowledged', replayed: true }),
      acknowledged(40, 50),
    ],
    {
      loadMs: 100,
      requests: 7,
      attempts: 7,
      acknowledged: 2,
      refused: 1,
      unknown: 1,
      replayed: 1,
      unavailable: 1,
      withoutRetryAfter: 0,
      failedRequests: 3,
      serverErrors: 0,
      slowestAnswerMs: 10,
    },
  ],
  [
    'a 503 whose Retry-After has no seconds',
    [unavailable(''), unavailable('0'), unavailable('soon'), unavailable(), unavailable('1')],
    { withoutRetryAfter: 4, unavailable: 5 },
  ],
  [
    'answers that blame the wrong side, and server errors other than 503',
    [
      attempt('a', 0, 1, { status: 400 }),
      attempt('a', 1, 2, { status: 500 }),
      get(400),
      page(404),
      ...[400, 503, 500, 201].map(wrong),
    ],
    { wronglyBlamed: 6, serverErrors: 2, failedRequests: 7 },
  ],
  [
    'the reads that were answered',
    [get(200), get(404), get(503), page(200), page(503)],
    { reads: 3, wronglyBlamed: 0, failedRequests: 2 },
  ],
  ['a refused key only if it is not from the storage', [get(401), get(401, 'k')], { wronglyBlamed: 1 }],
  ['the longest gap', acknowledgedAt(10, 20, 65, 90), { longestGapMs: 45 }],
  ['a gap at the start', acknowledgedAt(60, 70, 90), { longestGapMs: 60 }],
  ['a gap until the end', acknowledgedAt(10, 30), { longestGapMs: 70 }],
  ['a gap beyond the end', acknowledgedAt(10, 30, 150), { longestGapMs: 120 }],
  ['nothing but a gap', [], { longestGapMs: 100 }],
  [
    'times before, during and after the fault: during is every request that it can have affected',
    [acknowledged(0, 9), acknowledged(9, 12), acknowledged(20, 35), acknowledged(31, 36)],
    { p99Ms: { before: 9, during: 15, after: 5 } },
    { from: 10, to: 30 },
  ],
  [
    'the second slowest of a hundred as p99',
    Array.from({ length: 100 }, (_, index) => acknowledged(0, index + 1)),
    { p99Ms: { before: 99, during: undefined, after: undefined } },
  ],
])('the figures of a history count %s', (_rule, calls, expected, fault) => {
  expect(figures({ beginMs: 0, endMs: 100, fault, calls })).toMatchObject(expected);
});
