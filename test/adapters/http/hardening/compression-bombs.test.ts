import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { CORRUPT, CREATED, problem, TOO_LARGE, whole } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';

const malformed = (message: string) => problem(400, 'MALFORMED_JSON', message);

const MIB = 1024 * 1024;

/** Brotli at its fastest, which still shrinks the zeros of a bomb to a five-thousandth. */
const brotli = (bytes: Uint8Array | string) =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });

const CODINGS: readonly [string, (bytes: Uint8Array | string) => Buffer][] = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotli],
];

/** As many as gzip fits into 64 KiB. */
const BOMB_BYTES = 60 * MIB;

// Inflated in full they would take 3 GB or more. A Brotli decoder has a window of up to 16 MiB, and 4 MiB each were
// measured; everything else takes kilobytes.
const MAX_GROWTH_BYTES = 500 * MIB;

test.each(CODINGS)('fifty bombs at once: %s: 413, and the memory stays bounded', async (coding, encode) => {
  const bomb = encode(Buffer.alloc(BOMB_BYTES));
  expect(bomb.length).toBeLessThan(64 * 1024);
  expect(50 * BOMB_BYTES).toBeGreaterThan(4 * MAX_GROWTH_BYTES);
  await using api = await startApi();
  const before = process.resourceUsage().maxRSS;
  const headers = { 'content-encoding': coding };
  const answers = await Promise.all(Array.from({ length: 50 }, () => api.post(bomb, headers)));
  const grown = (process.resourceUsage().maxRSS - before) * 1024;
  expect(answers.map(whole)).toStrictEqual(answers.map(() => TOO_LARGE));
  expect(grown).toBeLessThan(MAX_GROWTH_BYTES);
  expect(whole(await api.post(petBody()))).toStrictEqual(CREATED);
});

describe.each(CODINGS)('%s', (coding, encode) => {
  const bomb = encode(Buffer.alloc(10 * MIB));
  const PET = encode(petBody());

  test.each([
    ['inside itself', encode(bomb), malformed('the body is not UTF-8')],
    ['of an empty body', encode(''), malformed('the body is empty; it must be a JSON object')],
    ['with one byte after its end', Buffer.concat([PET, Buffer.of(1)]), CORRUPT],
    ['with the start of another stream after its end', Buffer.concat([PET, PET.subarray(0, 8)]), CORRUPT],
    ['with a bomb after its end', Buffer.concat([PET, bomb]), coding === 'gzip' ? TOO_LARGE : CORRUPT],
  ])('%s is decoded once, and creates nothing', async (_, body, expected) => {
    await using api = await startApi();
    expect(whole(await api.post(body, { 'content-encoding': coding }))).toStrictEqual(expected);
    expect(api.log.failures).toStrictEqual([]);
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });

  test('truncated at every byte', async () => {
    await using api = await startApi();
    for (let length = 1; length < PET.length; length++) {
      const answer = await api.post(PET.subarray(0, length), { 'content-encoding': coding });
      expect(whole(answer)).toStrictEqual(CORRUPT);
    }
  });

  test('with a flipped bit is refused or read, and is never an error of the service', async () => {
    await using api = await startApi();
    for (let byte = 0; byte < PET.length; byte++) {
      const broken = Buffer.from(PET);
      broken[byte]! ^= 0x10;
      const { status } = await api.post(broken, { 'content-encoding': coding });
      expect([201, 400, 413]).toContain(status);
    }
    expect(api.log.failures).toStrictEqual([]);
  });
});

test.each(['gzip', 'x-gzip'])('%s in several members is one body: RFC 1952, section 2.2', async (coding) => {
  await using api = await startApi();
  const members = [petBody().slice(0, 9), '', petBody().slice(9)].map((part) => gzipSync(part));
  const answer = await api.post(Buffer.concat(members), { 'content-encoding': coding });
  expect(whole(answer)).toStrictEqual(CREATED);
});
