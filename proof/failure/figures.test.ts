import { expect, it } from 'vitest';
import { type Figures, computeFigures } from './figures.ts';
import type { Create, Get, History, Page, SentRequest, WrongRequest } from './history.ts';

const request = (beginMs: number, endMs: number, fields: Partial<SentRequest> = {}): SentRequest => {
  return { beginMs, endMs, url: 'http://127.0.0.1/v1/pets', outcome: 'unknown', ...fields };
};
const create = (name: string, beginMs: number, endMs: number, fields: Partial<Create> = {}): Create => {
  return { type: 'create', ...request(beginMs, endMs), content: name, body: '', ...fields };
};
const addedPet = (beginMs: number, endMs: number): Create => {
  return create(`${beginMs} ${endMs}`, beginMs, endMs, { outcome: 'acknowledged', status: 201 });
};
/** Without `apiKey`, the client used the key in `API_KEYS`, which is never revoked. */
const get = (status: number, apiKey?: string): Get => {
  return { type: 'get', id: 1, ...request(0, 1, { status, ...(apiKey !== undefined && { apiKey }) }) };
};
const page = (status: number): Page => ({ type: 'page', after: 0, limit: 1, ...request(0, 1, { status }) });
const wrongRequest = (status: number): WrongRequest => ({ type: 'wrong', ...request(0, 1, { status }) });
const createWith503 = (retryAfter?: string): Create => {
  return create('a', 0, 1, { status: 503, ...(retryAfter !== undefined && { retryAfter }) });
};
const refusedConnection = { failure: 'ECONNREFUSED', outcome: 'refused' } as const;
const createsEndingAt = (...times: number[]) => times.map((time) => addedPet(time - 1, time));

it.each<[rule: string, calls: History['calls'], expected: Partial<Figures>, fault?: History['fault']]>([
  [
    'counts a pet once after several attempts, and counts no refused connection as a failed request',
    [
      create('a', 0, 10, { status: 503, retryAfter: '2' }),
      create('a', 10, 15, { failure: 'ECONNRESET' }),
      create('b', 0, 15, { failure: 'ECONNRESET' }),
      create('a', 15, 20, refusedConnection),
      create('c', 15, 20, refusedConnection),
      create('a', 20, 30, { status: 201, outcome: 'acknowledged', replayed: true }),
      addedPet(40, 50),
    ],
    {
      loadMs: 100,
      requests: 7,
      attempts: 7,
      acknowledgedPets: 2,
      refusedPets: 1,
      unknownPets: 1,
      replayedAnswers: 1,
      answers503: 1,
      answers503WithoutRetryAfter: 0,
      failedRequests: 3,
      other5xx: 0,
      slowestAnswerMs: 10,
    },
  ],
  [
    'counts each 503 whose Retry-After is not a positive number of seconds',
    [createWith503(''), createWith503('0'), createWith503('soon'), createWith503(), createWith503('1')],
    { answers503WithoutRetryAfter: 4, answers503: 5 },
  ],
  [
    'counts each 4xx for a valid request, each wrong request without a 400, and each 5xx other than 503',
    [
      create('a', 0, 1, { status: 400 }),
      create('a', 1, 2, { status: 500 }),
      get(400),
      page(404),
      ...[400, 503, 500, 201].map(wrongRequest),
    ],
    { wronglyBlamedRequests: 6, other5xx: 2, failedRequests: 7 },
  ],
  [
    'counts a read with 200 or 404 as answered, and a read with 503 as failed',
    [get(200), get(404), get(503), page(200), page(503)],
    { answeredReads: 3, wronglyBlamedRequests: 0, failedRequests: 2 },
  ],
  ['counts a 401 as wrong for the key in API_KEYS', [get(401), get(401, 'k')], { wronglyBlamedRequests: 1 }],
  ['finds the longest gap between acknowledged pets', createsEndingAt(10, 20, 65, 90), { longestGapMs: 45 }],
  ['finds a gap before the first acknowledged pet', createsEndingAt(60, 70, 90), { longestGapMs: 60 }],
  ['finds a gap after the last acknowledged pet', createsEndingAt(10, 30), { longestGapMs: 70 }],
  ['finds a gap that ends after the load has ended', createsEndingAt(10, 30, 150), { longestGapMs: 120 }],
  ['takes the whole load as the gap when no pet is acknowledged', [], { longestGapMs: 100 }],
  [
    'computes p99 per phase, and a pet whose requests overlap the fault belongs to "during"',
    [addedPet(0, 9), addedPet(9, 12), addedPet(20, 35), addedPet(31, 36)],
    { p99Ms: { before: 9, during: 15, after: 5 } },
    { from: 10, to: 30 },
  ],
  [
    'takes the second slowest of a hundred pets as p99',
    Array.from({ length: 100 }, (_, index) => addedPet(0, index + 1)),
    { p99Ms: { before: 99, during: undefined, after: undefined } },
  ],
])('computeFigures %s', (_rule, calls, expected, fault) => {
  expect(computeFigures({ beginMs: 0, endMs: 100, fault, calls })).toMatchObject(expected);
});
