import { describe, expect, it } from 'vitest';
import { figures } from './figures.ts';
import type { Create, Get, History, Page, Sent, Wrong } from './history.ts';

const sent = (begun: number, ended: number, rest: Partial<Sent> = {}): Sent => ({
  begun,
  ended,
  url: 'http://127.0.0.1/v1/pets',
  outcome: 'unknown',
  ...rest,
});
const attempt = (name: string, begun: number, ended: number, rest: Partial<Create> = {}): Create => {
  return { type: 'create', ...sent(begun, ended), content: name, body: '', ...rest };
};
const acknowledged = (begun: number, ended: number): Create => {
  return attempt(`${begun}`, begun, ended, { outcome: 'acknowledged', status: 201 });
};
const get = (status: number): Get => ({ type: 'get', id: 1, ...sent(0, 1, { status }) });
const page = (status: number): Page => ({
  type: 'page',
  after: 0,
  limit: 1,
  ...sent(0, 1, { status }),
});
const wrong = (status: number): Wrong => ({ type: 'wrong', ...sent(0, 1, { status }) });
const history = (calls: History['calls'], rest: Partial<History> = {}): History => {
  return { begun: 0, ended: 100, fault: undefined, calls, ...rest };
};

describe('the figures of a history', () => {
  it('count every attempt, and each pet once', () => {
    const calls = [
      attempt('a', 0, 10, { status: 503, retryAfter: '2' }),
      attempt('a', 10, 15, { failure: 'ECONNRESET' }),
      attempt('b', 0, 15, { failure: 'ECONNRESET' }),
      attempt('a', 15, 20, { failure: 'ECONNREFUSED', outcome: 'refused' }),
      attempt('c', 15, 20, { failure: 'ECONNREFUSED', outcome: 'refused' }),
      attempt('a', 20, 30, { status: 201, outcome: 'acknowledged', replayed: true }),
      acknowledged(40, 50),
    ];
    expect(figures(history(calls))).toMatchObject({
      loadMs: 100,
      requests: 7,
      attempts: 7,
      acknowledged: 2,
      refused: 1,
      unknown: 1,
      replayed: 1,
      unavailable: 1,
      withoutRetryAfter: 0,
      // A refused connection does not count as a request.
      failedRequests: 3,
      serverErrors: 0,
      slowestAnswerMs: 10,
    });
  });

  it.each(['', '0', 'soon', undefined])('count a 503 whose Retry-After has no seconds: %j', (retryAfter) => {
    const create = attempt('a', 0, 1, { status: 503, ...(retryAfter !== undefined && { retryAfter }) });
    expect(figures(history([create])).withoutRetryAfter).toBe(1);
  });

  it('count answers that blame the wrong side, and server errors other than 503', () => {
    const calls = [
      attempt('a', 0, 1, { status: 400 }),
      attempt('a', 1, 2, { status: 500 }),
      get(400),
      page(404),
      ...[400, 503, 500, 201].map(wrong),
    ];
    expect(figures(history(calls))).toMatchObject({ wronglyBlamed: 6, serverErrors: 2, failedRequests: 7 });
  });

  it('count the reads that were answered', () => {
    const calls = [get(200), get(404), get(503), page(200), page(503)];
    expect(figures(history(calls))).toMatchObject({ reads: 3, wronglyBlamed: 0, failedRequests: 2 });
  });

  it('leave it to the check of the history whether a key of the storage was refused rightly', () => {
    const calls = [get(401), { ...get(401), apiKey: 'k' }];
    expect(figures(history(calls))).toMatchObject({ wronglyBlamed: 1, failedRequests: 1 });
  });

  it('measure the longest gap, from the start to the end', () => {
    const gap = (...times: number[]) =>
      figures(history(times.map((time) => acknowledged(time - 1, time)))).longestGapMs;
    expect(gap(10, 20, 65, 90)).toBe(45);
    expect(gap(60, 70, 90)).toBe(60);
    expect(gap(10, 30)).toBe(70);
    expect(gap(10, 30, 150)).toBe(120);
    expect(gap()).toBe(100);
  });

  it('measure before, during and after the fault: during is every request that it can have affected', () => {
    const calls = [acknowledged(0, 9), acknowledged(9, 12), acknowledged(20, 35), acknowledged(31, 36)];
    expect(figures(history(calls, { fault: { from: 10, to: 30 } })).p99Ms).toStrictEqual({
      before: 9,
      during: 15,
      after: 5,
    });
  });

  it('take the second slowest of a hundred as p99', () => {
    const calls = Array.from({ length: 100 }, (_, index) =>
      attempt(`${index}`, 0, index + 1, { outcome: 'acknowledged' }),
    );
    expect(figures(history(calls)).p99Ms.before).toBe(99);
  });
});
