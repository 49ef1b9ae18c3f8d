import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { FUZZ_KEY } from './fuzz-limits.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';

const NAMES = [
  'Rex',
  'Mitzi 🐈',
  'Ωmega \\"the\\" \\\\ dog',
  'na\\u00efve',
  '日本犬',
  ' x ',
  '\\ud83d\\udc15',
];
/** Values of `categoryId`. */
const IDS = ['0', '7', '-1', '1.0', '1e3', '9007199254740993', '9223372036854775807', '-9223372036854775808'];
const STATUSES = ['available', 'pending', 'sold'];
const JSON_TYPES = ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'];

/** Makes short texts, a new one at each call. They make request ids and the names of pets unique. */
export type Marks = { next(): string };

/**
 * Makes a request in valid HTTP, as Latin-1 text. The service must refuse a few of the requests, for example because
 * the API key is missing or the path does not exist.
 */
export function makeRequest(random: SeededRandom, marks: Marks): string {
  const kind = random.below(100);
  if (kind < 30) return makeCreate(random, marks);
  if (kind < 55) return makeRead(random, marks, `/v1/pets${listQuery(random)}`);
  if (kind < 75) return makeRead(random, marks, `/v1/pets/${random.pick(IDS_IN_PATHS)}`);
  if (kind < 90) return makeRead(random, marks, random.pick(['/livez', '/livez', '/livez', '/readyz', '/']));
  if (kind < 91) return makeRead(random, marks, random.pick(['/openapi.json', '/docs']));
  return makeRead(random, marks, random.pick(PATHS), random.pick(METHODS));
}

const IDS_IN_PATHS = ['1', '2', '17', '999999999', '-1', '0', '01', 'x', '%31', '9223372036854775808'];
const PATHS = [
  '/v1/pets',
  '/v1/pets/1',
  '/v1',
  '/v1/',
  '/v1/pets/',
  '/nothing',
  '/livez',
  '*',
  'http://a/livez',
  '//a',
];
const METHODS = ['GET', 'HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'QUERY', 'PROPFIND', 'CONNECT'];

function listQuery(random: SeededRandom): string {
  const parameters = [
    random.chance(0.5) ? `limit=${random.pick(['1', '2', '5', '20', '100', '0', '101', '05'])}` : '',
    random.chance(0.3) ? `status=${random.pick([...STATUSES, 'Sold', ''])}` : '',
    random.chance(0.3) ? `cursor=v1.${random.below(5000).toString(16).padStart(16, '0')}` : '',
    random.chance(0.05) ? random.pick(['limit=5', 'x=y', '%', '=', '&', 'limit=%35']) : '',
  ].filter((part) => part !== '');
  return parameters.length === 0 ? '' : `?${parameters.join('&')}`;
}

function makeRead(random: SeededRandom, marks: Marks, target: string, fixedMethod?: string): string {
  const method = fixedMethod ?? random.pick(['GET', 'GET', 'GET', 'HEAD']);
  const body = random.chance(0.05) ? 'an unread body' : '';
  const lines = body === '' ? [] : [`Content-Length: ${body.length}`];
  return makeHead(random, marks, { method, target, lines }) + body;
}

function makeCreate(random: SeededRandom, marks: Marks): string {
  // Some creates are equal, so that an Idempotency-Key comes repeatedly with the same pet.
  const isRepeated = random.chance(0.05);
  const mark = isRepeated ? 'again' : marks.next();
  const fields = [
    `"name":"${isRepeated ? '' : random.pick(NAMES)} ${mark}"`,
    `"categoryId":${isRepeated ? '7' : random.pick(IDS)}`,
    !isRepeated && random.chance(0.5) ? `"status":"${random.pick(STATUSES)}"` : '',
    random.chance(0.2) ? '"tags":[{"deep":[1.5,null,true]}]' : '',
  ].filter((part) => part !== '');
  const json = Buffer.from(`{${fields.join(random.pick([',', ' ,\n ']))}}`);
  const coding = random.chance(0.1) ? random.pick(['gzip', 'deflate', 'br']) : '';
  const body = encode(json, coding).toString('latin1');
  const lines = [`Content-Type: ${random.pick(JSON_TYPES)}`];
  if (coding !== '') lines.push(`Content-Encoding: ${coding}`);
  if (isRepeated || random.chance(0.2))
    lines.push(`Idempotency-Key: ${random.pick([mark, `"${mark}"`, 'shared'])}`);
  if (random.chance(0.05)) lines.push('Expect: 100-continue');
  const isChunked = random.chance(0.4);
  lines.push(isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`);
  return (
    makeHead(random, marks, { method: 'POST', target: '/v1/pets', lines }) +
    (isChunked ? toChunks(random, body) : body)
  );
}

function encode(json: Buffer, coding: string): Buffer {
  if (coding === 'gzip') return gzipSync(json);
  if (coding === 'deflate') return deflateSync(json);
  return coding === 'br' ? brotliCompressSync(json) : json;
}

function toChunks(random: SeededRandom, body: string): string {
  const chunks: string[] = [];
  for (let at = 0; at < body.length; ) {
    const size = Math.min(1 + random.below(random.pick([4, 64, 1000])), body.length - at);
    const extension = random.chance(0.05) ? ';a=b' : '';
    chunks.push(`${size.toString(16)}${extension}\r\n${body.slice(at, at + size)}\r\n`);
    at += size;
  }
  const trailer = random.chance(0.05) ? 'X-Trailer: y\r\n' : '';
  return `${chunks.join('')}0\r\n${trailer}\r\n`;
}

type HeadParts = { readonly method: string; readonly target: string; readonly lines: readonly string[] };

function makeHead(random: SeededRandom, marks: Marks, { method, target, lines }: HeadParts): string {
  const isHttp10 = random.chance(0.03);
  const headers = [
    'Host: petstore.example',
    `X-Request-Id: ${marks.next()}`,
    ...lines,
    ...(random.chance(0.9) ? [`${random.pick(['Authorization', 'authorization'])}: Bearer ${FUZZ_KEY}`] : []),
    ...(random.chance(0.03) ? ['Authorization: Basic eDp5'] : []),
    ...(random.chance(0.1) ? ['Accept: text/html, */*'] : []),
    ...(random.chance(0.03) ? [`Connection: ${random.pick(['close', 'keep-alive', 'Keep-Alive, TE'])}`] : []),
    ...(random.chance(0.05) ? [`X-Long: ${'y'.repeat(random.pick([300, 5_000]))}`] : []),
  ];
  // The answer must not depend on the order of the headers, so a random header is the first.
  const firstIndex = random.below(headers.length);
  const rotated = [...headers.slice(firstIndex), ...headers.slice(0, firstIndex)];
  return `${method} ${target} HTTP/1.${isHttp10 ? 0 : 1}\r\n${rotated.map((line) => `${line}\r\n`).join('')}\r\n`;
}
