import { describe, expect, it } from 'vitest';
import { figures } from './figures.ts';
import type { Attempt, Create, Get, History } from './history.ts';

const attempt = (begun: number, ended: number, rest: Partial<Attempt> = {}): Attempt => ({
  begun,
  ended,
  url: 'http://127.0.0.1',
  outcome: 'unknown',
  ...rest,
});
const acknowledged = (begun: number, ended: number, attempts?: Attempt[]): Create => ({
  key: 'k',
  name: 'n',
  body: '',
  begun,
  ended,
  attempts: attempts ?? [attempt(begun, ended, { outcome: 'acknowledged', status: 201 })],
  outcome: 'acknowledged',
});
const get = (status: number, found: Get['found']): Get => ({ ...attempt(0, 1, { status }), found });
const history = (rest: Partial<History>): History => ({
  begun: 0,
  ended: 100,
  fault: undefined,
  creates: [],
  gets: [],
  wrong: [],
  ...rest,
});

describe('the figures of a history', () => {
  it('count every attempt, and each pet once', () => {
    const retried = acknowledged(0, 30, [
      attempt(0, 10, { status: 503, retryAfter: '2' }),
      attempt(10, 15, { failure: 'ECONNRESET' }),
      attempt(15, 20, { failure: 'ECONNREFUSED', outcome: 'refused' }),
      attempt(20, 30, { status: 201, outcome: 'acknowledged' }),
    ]);
    expect(figures(history({ creates: [retried, acknowledged(40, 50)] }))).toMatchObject({
      attempts: 5,
      acknowledged: 2,
      unavailable: 1,
      withoutRetryAfter: 0,
      // A refused connection does not count as a request.
      failedRequests: 2,
      serverErrors: 0,
      slowestAnswerMs: 10,
    });
  });

  it.each(['', '0', 'soon', undefined])('count a 503 whose Retry-After has no seconds: %j', (retryAfter) => {
    const create = acknowledged(0, 1, [
      attempt(0, 1, { status: 503, ...(retryAfter !== undefined && { retryAfter }) }),
    ]);
    expect(figures(history({ creates: [create] })).withoutRetryAfter).toBe(1);
  });

  it('count answers that blame the wrong side, and server errors other than 503', () => {
    const blamed = acknowledged(0, 1, [attempt(0, 1, { status: 400 }), attempt(1, 2, { status: 500 })]);
    const wrong = [400, 503, 500, 201].map((status) => attempt(0, 1, { status }));
    expect(figures(history({ creates: [blamed], wrong, gets: [get(400, 'no answer')] }))).toMatchObject({
      wronglyBlamed: 5,
      serverErrors: 2,
      failedRequests: 6,
    });
  });

  it('count acknowledged pets that a GET did not find', () => {
    const gets = [get(200, 'as acknowledged'), get(404, 'missing'), get(200, 'different')];
    expect(figures(history({ gets }))).toMatchObject({ missing: 1, different: 1, wronglyBlamed: 0 });
  });

  it('measure the longest gap, from the start to the end', () => {
    const at = (...times: number[]) =>
      history({ creates: times.map((time) => acknowledged(time - 1, time)) });
    expect(figures(at(10, 20, 65, 90)).longestGapMs).toBe(45);
    expect(figures(at(60, 70, 90)).longestGapMs).toBe(60);
    expect(figures(at(10, 30)).longestGapMs).toBe(70);
    expect(figures(at(10, 30, 150)).longestGapMs).toBe(120);
    expect(figures(at()).longestGapMs).toBe(100);
  });

  it('measure before, during and after the fault: during is every request that it can have affected', () => {
    const creates = [acknowledged(0, 9), acknowledged(9, 12), acknowledged(20, 35), acknowledged(31, 36)];
    expect(figures(history({ creates, fault: { from: 10, to: 30 } })).p99Ms).toStrictEqual({
      before: 9,
      during: 15,
      after: 5,
    });
  });

  it('take the second slowest of a hundred as p99', () => {
    const creates = Array.from({ length: 100 }, (_, index) => acknowledged(0, index + 1));
    expect(figures(history({ creates })).p99Ms.before).toBe(99);
  });
});
