import { describe, expect, test } from 'vitest';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, toKnownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { RateLimiter } from '../../../src/application/ports/rate-limiter.ts';
import type { Caller } from '../../../src/application/ports/token-verifier.ts';
import { EMPTY_PAGE, INTERNAL, problem, success, brief } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';

const TOM = 'tom-0123456789abcdef';
const ANN = 'ann-0123456789abcdef';
const AS_TOM = { authorization: `Bearer ${TOM}` };
const AS_ANN = { authorization: `Bearer ${ANN}` };

const LIMIT = { requests: 2, seconds: 3600 };

/** Starts a service whose limiter has a clock that stands still, so no window of the limit ends. */
function startFrozen(options: Parameters<typeof startApi>[0] = {}): ReturnType<typeof startApi> {
  return startApi({ limiter: new InMemoryRateLimiter(() => 0), ...options });
}

/** The headers that describe the limit to a client. The window has just begun. */
function limitHeaders(requests: number, seconds: number, remaining: number): Record<string, string> {
  return {
    'ratelimit-policy': `"key";q=${requests};w=${seconds}`,
    ratelimit: `"key";r=${remaining};t=${seconds}`,
  };
}

function refusedAnswer(requests: number, seconds: number): ReturnType<typeof brief> {
  return problem(
    429,
    'RATE_LIMITED',
    `the API key may send at most ${requests} requests in ${seconds} s; try again in ${seconds} s`,
    { ...limitHeaders(requests, seconds, 0), 'retry-after': String(seconds) },
  );
}

/** Knows the keys of Tom and Ann. `ann` changes properties of Ann's key. */
function tomAndAnn(ann: Partial<Caller> = {}): InMemoryTokenVerifier {
  return new InMemoryTokenVerifier([
    toKnownKey({ label: 'tom', token: TOM }),
    toKnownKey({ label: 'ann', token: ANN, ...ann }),
  ]);
}

const failing = (failure: Error): RateLimiter => ({ take: () => Promise.reject(failure) });

describe('a rate limit', () => {
  test('allows its number of requests and refuses the next one, and counts separately for each key, which can have its own limit', async () => {
    const tokens = tomAndAnn({ rateLimit: { requests: 1, seconds: 60 } });
    await using api = await startFrozen({ tokens, rateLimit: LIMIT });
    const answers = [];
    for (const headers of [AS_TOM, AS_TOM, AS_TOM, AS_TOM, AS_ANN, AS_ANN])
      answers.push(brief(await api.get('/v1/pets', headers)));
    expect(answers).toStrictEqual([
      success(200, '[]', limitHeaders(2, 3600, 1)),
      success(200, '[]', limitHeaders(2, 3600, 0)),
      refusedAnswer(2, 3600),
      refusedAnswer(2, 3600),
      success(200, '[]', limitHeaders(1, 60, 0)),
      refusedAnswer(1, 60),
    ]);
  });

  test('that belongs to one key does not apply to other keys', async () => {
    await using api = await startFrozen({ tokens: tomAndAnn({ rateLimit: LIMIT }) });
    expect(brief(await api.get('/v1/pets', AS_ANN))).toStrictEqual(
      success(200, '[]', limitHeaders(2, 3600, 1)),
    );
    expect(brief(await api.get('/v1/pets', AS_TOM))).toStrictEqual(EMPTY_PAGE);
  });

  test('counts by the id of the key, and a 429 reports when the limiter allows the next request', async () => {
    const rateLimit = { requests: 7, seconds: 8 };
    const takeCalls: unknown[] = [];
    const limiter: RateLimiter = {
      take: async (...args) => {
        takeCalls.push(args);
        return { allowed: false, remaining: 0, resetSeconds: 5 };
      },
    };
    const tokens = tomAndAnn({ id: 'the-id-of-ann', originId: 'the-id-before', rateLimit });
    await using api = await startFrozen({ tokens, limiter });
    const { status, headers } = await api.get('/v1/pets', AS_ANN);
    expect([status, headers['ratelimit'], headers['retry-after']]).toStrictEqual([429, '"key";r=0;t=5', '5']);
    expect(takeCalls).toStrictEqual([['the-id-of-ann', rateLimit]]);
  });
});

test.each([
  ['HEAD', 200, '/v1/pets'],
  ['GET', 403, '/v1/pets'],
  ['GET', 404, '/v1/nothing'],
  ['PUT', 405, '/v1/pets'],
])(
  'a request with a key is counted, and its answer has the number of remaining requests, whatever its status: %s with the status %i',
  async (method, status, path) => {
    const tokens = tomAndAnn({ scopes: [] });
    await using api = await startFrozen({ tokens, rateLimit: LIMIT });
    const headers = status === 403 ? AS_ANN : AS_TOM;
    const answer = await api.request(method, path, { headers });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(limitHeaders(2, 3600, 1));
    expect((await api.get('/v1/pets', headers)).headers).toMatchObject(limitHeaders(2, 3600, 0));
  },
);

test.each([
  [401, '/v1/pets', undefined],
  [401, '/v1/pets', 'Bearer wrong'],
  [401, '/v1/pets', `Bearer ${TOM}x`],
  [200, '/livez', `Bearer ${TOM}`],
  [200, '/readyz', `Bearer ${TOM}`],
])(
  'a request without a valid key, or outside of /v1, is not counted: the status is %i for %s',
  async (status, path, authorization) => {
    const limiter = failing(new Error('the limiter must not be called'));
    await using api = await startApi({ tokens: tomAndAnn(), rateLimit: LIMIT, limiter });
    const answer = await api.get(path, { authorization });
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toStrictEqual([]);
  },
);

const POLICY = { 'ratelimit-policy': '"key";q=2;w=3600' };

test('while the storage of the limiter is unavailable, the service allows requests without counting them, and logs each of them', async () => {
  const error = new StorageUnavailable('away');
  await using api = await startFrozen({ tokens: tomAndAnn(), rateLimit: LIMIT, limiter: failing(error) });
  for (const id of ['a', 'b', 'c']) {
    const answer = await api.get('/v1/pets', { ...AS_TOM, 'x-request-id': id });
    expect(brief(answer)).toStrictEqual(success(200, '[]', POLICY));
  }
  expect(api.log.notCounted).toStrictEqual(['a', 'b', 'c'].map((requestId) => ({ error, requestId })));
  expect(api.log.failures).toStrictEqual([]);
});

test('a request is answered with 500 if the limiter has a bug', async () => {
  const error = new TypeError('x is not a function');
  await using api = await startFrozen({ tokens: tomAndAnn(), rateLimit: LIMIT, limiter: failing(error) });
  const answer = await api.get('/v1/pets', { ...AS_TOM, 'x-request-id': 'a' });
  expect(brief(answer)).toStrictEqual({ ...INTERNAL, headers: POLICY });
  expect(api.log.failures).toStrictEqual([{ error, requestId: 'a' }]);
  expect(api.log.notCounted).toStrictEqual([]);
});
