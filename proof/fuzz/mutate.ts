import { makeRequest, type Marks } from './make-request.ts';
import type { SeededRandom } from '../../test/support/seeded-random.ts';

/** Returns the request, a Latin-1 text, with one or a few random changes. */
export function mutate(request: string, random: SeededRandom, marks: Marks): string {
  let mutated = request;
  const count = 1 + (random.chance(0.3) ? random.below(4) : 0);
  for (let i = 0; i < count; i++) mutated = random.pick(MUTATIONS)(mutated, random, marks);
  return mutated;
}

type Mutation = (text: string, random: SeededRandom, marks: Marks) => string;

/** Texts that have a meaning in HTTP, URLs, JSON or UTF-8, and texts that are wrong there. */
const WORDS = [
  ...'\r|\n|\r\n|\r\n\r\n|\0|\t| |:|,|;|"|\\|%|%00|%2f|%0d%0a|..|//|?|#|&|=|{|}|[|]|[]|{}'.split('|'),
  ...'null|true|-|1e999|1e-5|-0|00|1.5|.5|18446744073709551616|9223372036854775808|0x1'.split('|'),
  ...'\\u0000|\\ud800|\\x|\xff|\xc3\x28|\xef\xbb\xbf|\xf0\x9f\x90\x95'.split('|'),
  ...'constructor|__proto__|toString|HTTP/1.0|HTTP/2.0|http://b/|chunked|gzip'.split('|'),
];

/** Valid and invalid header lines. Most decide where a request ends, who sent it, or whether the connection stays. */
const HEADER_LINES = [
  'Content-Length: 0',
  'Content-Length: 5',
  'Content-Length: 99999999',
  'Content-Length: -1',
  'Content-Length: 1, 1',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:',
  ' folded',
  'Connection: close',
  'Connection: keep-alive',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Connection: Upgrade\r\nUpgrade: h2c',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Host: other.example',
  'Host: a b',
  'Host:',
  'Authorization: Bearer nonsense',
  'Authorization: Bearer',
  'X-Request-Id: a b',
  'X-Request-Id:',
  'Content-Type: text/plain',
  'Content-Type: application/json; charset=latin1',
  'Content-Encoding: gzip',
  'Content-Encoding: nonsense',
  'Content-Encoding: identity',
  'Idempotency-Key: shared',
  'Idempotency-Key: "',
  'Idempotency-Key:',
  'X-Forwarded-Host: evil.example',
  'X-Forwarded-Proto: gopher',
  'Origin: https://a.example',
  'Range: bytes=0-1',
  'If-None-Match: *',
  'TE: trailers',
  'X-HTTP-Method-Override: DELETE',
  'Proxy-Connection: close',
  'X: \x01',
  'a',
  ':',
];

/**
 * A match begins only at the beginning of a line. If it could begin anywhere, the time for a long text without line
 * ends would grow with the square of its length.
 */
const LINE = /(?<![^\r\n])[^\r\n]+\r\n/g;

const randomPlace = (text: string, random: SeededRandom) => random.below(text.length + 1);
const splice = (text: string, from: number, removedLength: number, added: string) =>
  text.slice(0, from) + added + text.slice(from + removedLength);

/** Inserts a line after one of the first 12 line ends, or at the beginning of a text without line ends. */
function addLine(text: string, random: SeededRandom, line: string): string {
  const lineStarts = [...text.matchAll(/\r\n/g)].map(({ index }) => index + 2).slice(0, 12);
  return splice(text, lineStarts.length === 0 ? 0 : random.pick(lineStarts), 0, `${line}\r\n`);
}

/** Replaces one random match of the pattern. Returns the same text if there is no match. */
function replaceMatch(
  text: string,
  random: SeededRandom,
  pattern: RegExp,
  replace: (found: string) => string,
): string {
  const matches = [...text.matchAll(pattern)];
  if (matches.length === 0) return text;
  const { 0: found, index } = random.pick(matches);
  return splice(text, index, found.length, replace(found));
}

const MUTATIONS: readonly Mutation[] = [
  // Changes of any bytes.
  (text, random) => {
    const index = random.below(text.length || 1);
    const flipped = (text.charCodeAt(index) || 0) ^ (1 << random.below(8));
    return splice(text, index, 1, String.fromCharCode(flipped));
  },
  (text, random) => splice(text, randomPlace(text, random), 1, String.fromCharCode(random.below(256))),
  (text, random) => splice(text, randomPlace(text, random), 0, random.pick(WORDS)),
  (text, random) => splice(text, randomPlace(text, random), random.below(8), random.pick(WORDS)),
  (text, random) => splice(text, randomPlace(text, random), 1 + random.below(20), ''),
  (text, random) => text.slice(0, randomPlace(text, random)),
  (text, random) => {
    const from = randomPlace(text, random);
    return splice(text, randomPlace(text, random), 0, text.slice(from, from + random.below(100)));
  },
  (text, random) =>
    splice(text, randomPlace(text, random), 0, random.pick(WORDS).repeat(random.pick([10, 500, 9_000]))),
  // Changes of lines.
  (text, random) => addLine(text, random, random.pick(HEADER_LINES)),
  (text, random) => addLine(text, random, random.pick(HEADER_LINES)),
  (text, random) =>
    addLine(text, random, `X-Field: ${'z'.repeat(random.pick([100, 8_000, 16_300, 20_000]))}`),
  (text, random) => replaceMatch(text, random, LINE, (line) => line + line),
  (text, random) => replaceMatch(text, random, LINE, () => ''),
  (text, random) => replaceMatch(text, random, /\r\n/g, () => random.pick(['\n', '\r', '\r\r\n', ''])),
  (text, random) => replaceMatch(text, random, /: /g, () => random.pick([':', ' : ', ':\t', ': \r\n '])),
  (text, random) =>
    replaceMatch(text, random, /[A-Za-z-]{3,}/g, (word) => random.pick([word.toUpperCase(), 'x'])),
  // Changes of lengths and other numbers.
  (text, random) =>
    replaceMatch(text, random, /\d+/g, (digits) => String(Number(digits) + random.pick([-1, 1, 10, 1e6]))),
  (text, random) =>
    replaceMatch(text, random, /\d+/g, (digits) => random.pick(['', '+', '-', '0', '0x']) + digits),
  (text, random) => replaceMatch(text, random, /\d+/g, () => random.pick(WORDS)),
  (text, random) => replaceMatch(text, random, /Content-Length: \d+/g, () => 'Transfer-Encoding: chunked'),
  // Changes of query strings and paths.
  (text, random) =>
    replaceMatch(text, random, /[?&]/g, (mark) => mark + random.pick(WORDS) + random.pick(['=', '&', ''])),
  (text, random) =>
    replaceMatch(
      text,
      random,
      /\/[^ ]{0,200} /g,
      () => `/${random.pick(WORDS).repeat(random.pick([1, 3, 9000]))} `,
    ),
  // Changes of JSON.
  (text, random) => replaceMatch(text, random, /"[^"\r\n]*"/g, () => random.pick(WORDS)),
  (text, random) => replaceMatch(text, random, /[{[]/g, (char) => char.repeat(random.pick([2, 10, 20_000]))),
  // Insertions of a whole request at any place, and of bytes before the request.
  (text, random, marks) => splice(text, randomPlace(text, random), 0, makeRequest(random, marks)),
  (text, random) =>
    random.pick(['\r\n', '\n', ' ', '\0', '\x16\x03\x01\x00\xf5', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n']) + text,
];
