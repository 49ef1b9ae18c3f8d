import { describe, expect, test } from 'vitest';
import { CREATED, HEADERS_TOO_LARGE, invalid, REX, brief } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { timeRatio } from '../../../support/time-ratio.ts';
import { post } from '../raw-requests.ts';

const CREATED_IN_CATEGORY_0 = { ...CREATED, body: REX.replace('7', '0') };

const POST_UP_TO_TRAILERS = `${post('Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n0\r\n`;

const UNFINISHED_GET = 'GET /livez HTTP/1.1\r\nHost: x\r\n';

// Node allows 16,384 bytes of names and values. Colons, spaces and line ends do not count, so `a: b` has 2 bytes.
test.each([
  ['many short headers', UNFINISHED_GET + 'a: b\r\n'.repeat(8200)],
  ['one header with a long name', `${UNFINISHED_GET}${'x'.repeat(17 * 1024)}: x\r\n`],
  ['one long trailer', `${POST_UP_TO_TRAILERS}X-Long: ${'x'.repeat(16 * 1024)}`],
  ['many trailers', POST_UP_TO_TRAILERS + 'a: b\r\n'.repeat(8200)],
])('a request is answered with 431 if it has %s', async (_, bytes) => {
  await using api = await startApi();
  expect((await api.raw(bytes)).map(brief)).toStrictEqual([HEADERS_TOO_LARGE]);
  expect((await api.get('/v1/pets')).body).toBe('[]');
});

describe('a JSON body that could be expensive to parse', () => {
  const INT64_REFUSAL = invalid('categoryId must be an integer in the range of int64');
  const unknownFields = (count: number, nameOf: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => `,"${nameOf(i)}":1`).join('');

  test.each([
    ['60,000 digits', '9'.repeat(60_000), INT64_REFUSAL],
    ['60,000 trailing zeros', `1${'0'.repeat(60_000)}`, INT64_REFUSAL],
    ['60,000 zeros between two digits 1', `1.${'0'.repeat(60_000)}1`, INT64_REFUSAL],
    ['60,000 zeros after the decimal point', `7.${'0'.repeat(60_000)}`, CREATED],
    ['60,000 zeros before a negative exponent', `7${'0'.repeat(60_000)}e-60000`, CREATED],
    ['60,000 zeros before a positive exponent', `0.${'0'.repeat(59_999)}7e60000`, CREATED],
    ['a large exponent', '1e1000000', INT64_REFUSAL],
    ['an exponent of 60,000 digits', `1e${'9'.repeat(60_000)}`, INT64_REFUSAL],
    ['the value 0 with an exponent of 60,000 digits', `0e${'9'.repeat(60_000)}`, CREATED_IN_CATEGORY_0],
  ])('takes no quadratic time if its categoryId has %s', async (_, categoryId, expected) => {
    await using api = await startApi();
    expect(brief(await api.post(petBody({ categoryId })))).toStrictEqual(expected);
    const harmlessBody = petBody({ name: `"${'x'.repeat(60_000)}"` });
    // Both requests take a few milliseconds. If the time were quadratic, the first would take a second.
    const ratio = await timeRatio(
      () => api.post(petBody({ categoryId })),
      () => api.post(harmlessBody),
    );
    expect(ratio).toBeLessThan(30);
  });

  test.each([
    ['5,000 unknown fields with numbers as names', petBody().replace('}', `${unknownFields(5000, String)}}`)],
    ['the field __proto__ 3,000 times', petBody().replace('}', `${unknownFields(3000, () => '__proto__')}}`)],
    ['an unknown field with 32,000 numbers', petBody({ note: `[${'7,'.repeat(32_000)}7]` })],
    ['an unknown field with 20,000 objects', petBody({ note: `[${'{},'.repeat(20_000)}{}]` })],
  ])('is accepted if it has %s', async (_, body) => {
    await using api = await startApi();
    expect(body.length).toBeGreaterThan(30_000);
    expect(brief(await api.post(body))).toStrictEqual(CREATED);
  });
});

test('a query with 2,100 parameters takes less than ten times the CPU time of a query with 210 parameters', async () => {
  await using api = await startApi();
  const cpuTimeOf = async (parameterCount: number) => {
    const query = [...Array(parameterCount).keys()].map((i) => i.toString(36)).join('&');
    const before = process.cpuUsage();
    for (let i = 0; i < 30; i++) expect((await api.get(`/v1/pets?${query}`)).status).toBe(400);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  // The first run is slower than the later runs, so it does not count.
  await cpuTimeOf(210);
  const [timeOfFew, timeOfMany] = [await cpuTimeOf(210), await cpuTimeOf(2100)];
  // If the time is linear, the ratio is about 4, because each request also has a fixed cost. If the time were
  // quadratic, the ratio would be about 20.
  expect(timeOfMany / timeOfFew).toBeLessThan(10);
});
