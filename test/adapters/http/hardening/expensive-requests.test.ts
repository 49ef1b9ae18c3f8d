import { describe, expect, test } from 'vitest';
import { CREATED, HEADERS_TOO_LARGE, invalid, REX, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { timeRatio } from '../../../support/time-ratio.ts';
import { post } from '../raw-requests.ts';

const ZERO = { ...CREATED, body: REX.replace('7', '0') };

const CHUNKED_POST = `${post('Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n0\r\n`;

// Node counts names and values only, not what separates them.
const GET = 'GET /livez HTTP/1.1\r\nHost: x\r\n';

test.each([
  ['many', GET + 'a: b\r\n'.repeat(8200)],
  ['a long name', `${GET}${'x'.repeat(17 * 1024)}: x\r\n`],
  ['one trailer', `${CHUNKED_POST}X-Long: ${'x'.repeat(16 * 1024)}`],
  ['many trailers', CHUNKED_POST + 'a: b\r\n'.repeat(8200)],
])('endless headers are refused: %s', async (_, bytes) => {
  await using api = await startApi();
  expect((await api.raw(bytes)).map(whole)).toStrictEqual([HEADERS_TOO_LARGE]);
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

describe('JSON that is expensive to parse takes linear time', () => {
  const INT64 = invalid('categoryId must be an integer in the range of int64');
  const keys = (count: number, key: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => `,"${key(i)}":1`).join('');

  test.each([
    ['60,000 digits', '9'.repeat(60_000), INT64],
    ['60,000 trailing zeros', `1${'0'.repeat(60_000)}`, INT64],
    ['60,000 zeros between two ones', `1.${'0'.repeat(60_000)}1`, INT64],
    ['60,000 zeros after the point', `7.${'0'.repeat(60_000)}`, CREATED],
    ['60,000 zeros and a negative exponent', `7${'0'.repeat(60_000)}e-60000`, CREATED],
    ['60,000 zeros and a positive exponent', `0.${'0'.repeat(59_999)}7e60000`, CREATED],
    ['a large exponent', '1e1000000', INT64],
    ['an exponent of 60,000 digits', `1e${'9'.repeat(60_000)}`, INT64],
    ['zero with an exponent of 60,000 digits', `0e${'9'.repeat(60_000)}`, ZERO],
  ])('with a categoryId of %s', async (_, categoryId, expected) => {
    await using api = await startApi();
    expect(whole(await api.post(petBody({ categoryId })))).toStrictEqual(expected);
    const harmless = petBody({ name: `"${'x'.repeat(60_000)}"` });
    // Each request takes a few milliseconds. In quadratic time it would take a second.
    const ratio = await timeRatio(
      () => api.post(petBody({ categoryId })),
      () => api.post(harmless),
    );
    expect(ratio).toBeLessThan(30);
  });

  test.each([
    ['5,000 fields with numbers as names', petBody().replace('}', `${keys(5000, String)}}`)],
    ['__proto__ 3,000 times', petBody().replace('}', `${keys(3000, () => '__proto__')}}`)],
    ['32,000 numbers', petBody({ note: `[${'7,'.repeat(32_000)}7]` })],
    ['20,000 objects', petBody({ note: `[${'{},'.repeat(20_000)}{}]` })],
  ])('with unknown fields: %s', async (_, body) => {
    await using api = await startApi();
    expect(body.length).toBeGreaterThan(30_000);
    expect(whole(await api.post(body))).toStrictEqual(CREATED);
  });
});

test('ten times the query parameters take at most ten times the CPU time', async () => {
  await using api = await startApi();
  const cpuOf = async (parameters: number) => {
    const query = [...Array(parameters).keys()].map((i) => i.toString(36)).join('&');
    const before = process.cpuUsage();
    for (let i = 0; i < 30; i++) expect((await api.get(`/v1/pets?${query}`)).status).toBe(400);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await cpuOf(210);
  const [few, many] = [await cpuOf(210), await cpuOf(2100)];
  // In linear time they take 4 times as much, in quadratic time 20 times.
  expect(many / few).toBeLessThan(10);
});
