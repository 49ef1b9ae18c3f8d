import { describe, expect, test } from 'vitest';
import { InMemoryRateLimiter } from '../../../src/adapters/memory/rate-limiter.ts';
import { InMemoryTokenVerifier, knownKey } from '../../../src/adapters/tokens/in-memory-token-verifier.ts';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import type { RateLimiter } from '../../../src/application/ports/rate-limiter.ts';
import type { Caller } from '../../../src/application/ports/token-verifier.ts';
import { EMPTY, INTERNAL, problem, success, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';

const TOM = 'tom-0123456789abcdef';
const ANN = 'ann-0123456789abcdef';
const AS_TOM = { authorization: `Bearer ${TOM}` };
const AS_ANN = { authorization: `Bearer ${ANN}` };

const HOURLY = { requests: 2, seconds: 3600 };

/** The clock of the limiter stands still: no window ends. */
function startedApi(options: Parameters<typeof startApi>[0] = {}): ReturnType<typeof startApi> {
  return startApi({ limiter: new InMemoryRateLimiter(() => 0), ...options });
}

/** What a client is told of the limit. The window has just begun. */
function limited(requests: number, seconds: number, remaining: number): Record<string, string> {
  return {
    'ratelimit-policy': `"key";q=${requests};w=${seconds}`,
    ratelimit: `"key";r=${remaining};t=${seconds}`,
  };
}

function refused(requests: number, seconds: number): ReturnType<typeof whole> {
  return problem(
    429,
    'RATE_LIMITED',
    `the API key may send at most ${requests} requests in ${seconds} s; try again in ${seconds} s`,
    { ...limited(requests, seconds, 0), 'retry-after': String(seconds) },
  );
}

/** Tom and Ann; Ann's key may have other properties. */
function tomAndAnn(ann: Partial<Caller> = {}): InMemoryTokenVerifier {
  return new InMemoryTokenVerifier([
    knownKey({ label: 'tom', token: TOM }),
    knownKey({ label: 'ann', token: ANN, ...ann }),
  ]);
}

const failing = (failure: Error): RateLimiter => ({ take: () => Promise.reject(failure) });

describe('a rate limit', () => {
  test('allows its number of requests and refuses the next, separately for each key, which can have a limit of its own', async () => {
    const tokens = tomAndAnn({ rateLimit: { requests: 1, seconds: 60 } });
    await using api = await startedApi({ tokens, rateLimit: HOURLY });
    const answers = [];
    for (const as of [AS_TOM, AS_TOM, AS_TOM, AS_TOM, AS_ANN, AS_ANN])
      answers.push(whole(await api.get('/v1/pets', as)));
    expect(answers).toStrictEqual([
      success(200, '[]', limited(2, 3600, 1)),
      success(200, '[]', limited(2, 3600, 0)),
      refused(2, 3600),
      refused(2, 3600),
      success(200, '[]', limited(1, 60, 0)),
      refused(1, 60),
    ]);
  });

  test('of a key applies to no other key', async () => {
    await using api = await startedApi({ tokens: tomAndAnn({ rateLimit: HOURLY }) });
    expect(whole(await api.get('/v1/pets', AS_ANN))).toStrictEqual(success(200, '[]', limited(2, 3600, 1)));
    expect(whole(await api.get('/v1/pets', AS_TOM))).toStrictEqual(EMPTY);
  });

  test('counts by the id of the key, and reports when the limiter allows the next request', async () => {
    const rateLimit = { requests: 7, seconds: 8 };
    const taken: unknown[] = [];
    const limiter: RateLimiter = {
      take: async (...asked) => {
        taken.push(asked);
        return { allowed: false, remaining: 0, resetSeconds: 5 };
      },
    };
    const tokens = tomAndAnn({ id: 'the-id-of-ann', originId: 'the-id-before', rateLimit });
    await using api = await startedApi({ tokens, limiter });
    const { status, headers } = await api.get('/v1/pets', AS_ANN);
    expect([status, headers['ratelimit'], headers['retry-after']]).toStrictEqual([429, '"key";r=0;t=5', '5']);
    expect(taken).toStrictEqual([['the-id-of-ann', rateLimit]]);
  });
});

test.each([
  ['HEAD', 200, '/v1/pets'],
  ['GET', 403, '/v1/pets'],
  ['GET', 404, '/v1/nothing'],
  ['PUT', 405, '/v1/pets'],
])(
  'a request with a key is counted and answered with the remaining requests, whatever its status: %s: %i',
  async (method, status, path) => {
    const tokens = tomAndAnn({ scopes: [] });
    await using api = await startedApi({ tokens, rateLimit: HOURLY });
    const headers = status === 403 ? AS_ANN : AS_TOM;
    const answer = await api.request(method, path, { headers });
    expect(answer.status).toBe(status);
    expect(answer.headers).toMatchObject(limited(2, 3600, 1));
    expect((await api.get('/v1/pets', headers)).headers).toMatchObject(limited(2, 3600, 0));
  },
);

test.each([
  [401, '/v1/pets', undefined],
  [401, '/v1/pets', 'Bearer wrong'],
  [401, '/v1/pets', `Bearer ${TOM}x`],
  [200, '/livez', `Bearer ${TOM}`],
  [200, '/readyz', `Bearer ${TOM}`],
])(
  'a request without a valid key, or outside of /v1, is not limited: %i %s',
  async (status, path, authorization) => {
    const limiter = failing(new Error('asked'));
    await using api = await startApi({ tokens: tomAndAnn(), rateLimit: HOURLY, limiter });
    const answer = await api.get(path, { authorization });
    expect(answer.status).toBe(status);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('ratelimit'))).toStrictEqual([]);
  },
);

const POLICY = { 'ratelimit-policy': '"key";q=2;w=3600' };

test('a limiter whose storage is unavailable allows requests without counting, and reports this', async () => {
  const error = new StorageUnavailable('away');
  await using api = await startedApi({ tokens: tomAndAnn(), rateLimit: HOURLY, limiter: failing(error) });
  for (const id of ['a', 'b', 'c']) {
    const answer = await api.get('/v1/pets', { ...AS_TOM, 'x-request-id': id });
    expect(whole(answer)).toStrictEqual(success(200, '[]', POLICY));
  }
  expect(api.log.notCounted).toStrictEqual(['a', 'b', 'c'].map((requestId) => ({ error, requestId })));
  expect(api.log.failures).toStrictEqual([]);
});

test('a bug of the limiter is answered with 500', async () => {
  const error = new TypeError('x is not a function');
  await using api = await startedApi({ tokens: tomAndAnn(), rateLimit: HOURLY, limiter: failing(error) });
  const answer = await api.get('/v1/pets', { ...AS_TOM, 'x-request-id': 'a' });
  expect(whole(answer)).toStrictEqual({ ...INTERNAL, headers: POLICY });
  expect(api.log.failures).toStrictEqual([{ error, requestId: 'a' }]);
  expect(api.log.notCounted).toStrictEqual([]);
});
