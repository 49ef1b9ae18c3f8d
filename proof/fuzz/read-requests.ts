import { METHODS } from 'node:http';
import { SERVER_LIMITS } from '../../src/adapters/http/server/limits.ts';

/** A request as a strict reader sees it. */
export type ReadRequest = {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  /** Names in lower case, in the order in which they came. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Whether the body came whole. */
  readonly bodyState: 'whole' | 'incomplete' | 'broken';
  /** Whether the service must, may or must not close the connection after its answer. */
  readonly closes: 'must' | 'may' | 'never';
  /** A part of it is unusual, and a server may refuse it: it is answered like any other, or 400 ends the connection. */
  readonly isOdd: boolean;
};

/** What follows the requests. CONNECT asks for a `tunnel`: the service closes the connection, whatever is unanswered. */
type Rest = 'nothing' | 'incomplete' | 'broken' | 'ignored' | 'tunnel';

export type ReadStream = {
  readonly requests: readonly ReadRequest[];
  readonly rest: Rest;
  /** What follows the requests, as Latin-1 text. */
  readonly restText: string;
};

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Optional whitespace, which Node refuses here. */
const ODD_CODING = /^transfer-encoding:.*\t$/i;
const OWS = /^[\t ]+|[\t ]+$/g;
const METHOD_NAMES = new Set(METHODS);
const LONGEST_METHOD = Math.max(...METHODS.map((method) => method.length));

/** How far the two ways to count the bytes of the headers may differ: Node leaves out some separators. */
const HEADER_SLACK_BYTES = 2_500;

/**
 * Reads the requests in the bytes of a connection by RFC 9112, without any of its leniencies except two that Node's
 * parser shares with most servers: empty lines before a request, and several spaces in its first line.
 */
export function readRequests(all: Buffer): ReadStream {
  const text = all.toString('latin1');
  const requests: ReadRequest[] = [];
  let followsClose = false;
  for (let at = 0; ; ) {
    while (text[at] === '\r' || text[at] === '\n') at++;
    if (at === text.length) return { requests, rest: 'nothing', restText: '' };
    const head = readHead(text, at);
    if (head === 'incomplete' || head === 'broken') return { requests, rest: head, restText: text.slice(at) };
    const { request, end, framing } = head;
    if (request.method === 'CONNECT') return { requests, rest: 'tunnel', restText: text.slice(at) };
    if (framing === 'broken') return { requests, rest: 'broken', restText: text.slice(at) };
    const body = framing === 'chunked' ? readChunks(text, end) : readLength(text, end, framing);
    requests.push({
      ...request,
      body: Buffer.from(body.text, 'latin1'),
      bodyState: body.is,
      isOdd: request.isOdd || body.isOdd || followsClose,
    });
    followsClose ||= CLOSING_TRAILER.test(body.trailers ?? '');
    const isLast = body.is !== 'whole' || request.closes === 'must';
    if (isLast) return { requests, rest: 'ignored', restText: text.slice(body.end) };
    at = body.end;
  }
}

type Head = {
  readonly request: Omit<ReadRequest, 'body' | 'bodyState'>;
  /** Where the body begins. */
  readonly end: number;
  /** The length of the body, in bytes. */
  readonly framing: number | 'chunked' | 'broken';
};

function readHead(text: string, at: number): Head | 'incomplete' | 'broken' {
  const lines: string[] = [];
  let end = at;
  for (;;) {
    const next = text.indexOf('\n', end);
    const line = text.slice(end, next === -1 ? undefined : next + 1);
    const problem = lines.length === 0 ? isBrokenStart(line) : isBrokenLine(line);
    if (problem || end - at > SERVER_LIMITS.maxHeadersBytes + HEADER_SLACK_BYTES) return 'broken';
    if (next === -1) return text.length - at > SERVER_LIMITS.maxHeadersBytes ? 'broken' : 'incomplete';
    end = next + 1;
    if (line === '\r\n') break;
    lines.push(line.slice(0, -2));
  }
  const [, method = '', target = '', version = ''] =
    /^(\S+) +(\S+) +HTTP\/(1\.[01])$/.exec(lines[0] ?? '') ?? [];
  if (version === '') return 'broken';
  const headers = lines.slice(1).map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replaceAll(OWS, '')] as const;
  });
  const isLarge = end - at > SERVER_LIMITS.maxHeadersBytes - HEADER_SLACK_BYTES;
  const isOddTarget = !/^(?:\/|\*|https?:\/\/[\w.-]+(?::\d+)?(?![^/?]))/i.test(target);
  const request = {
    method,
    target,
    version: version as '1.0' | '1.1',
    headers,
    closes: closes(version, headers),
    isOdd: isLarge || isOddTarget || lines.some((line) => ODD_CODING.test(line)),
  };
  return { request, end, framing: framingOf(headers, version) };
}

/** Whether this can no longer become a request line. */
function isBrokenStart(line: string): boolean {
  const [method = '', ...rest] = line.split(' ');
  if (rest.length === 0) {
    const name = line.replace(/\r?\n$/, '');
    if (name !== line) return true;
    return line.length > LONGEST_METHOD || !METHODS.some((known) => known.startsWith(line));
  }
  if (!METHOD_NAMES.has(method)) return true;
  const after = line.slice(method.length).replace(/^ +/, '');
  const whole = /^[!-~]* +HTTP\/1\.[01]\r\n$/;
  if (line.endsWith('\n')) return !whole.test(after) || after.startsWith(' ');
  return !/^(?:[!-~]*|[!-~]+ +(?:H(?:T(?:T(?:P(?:\/(?:1(?:\.(?:[01]\r?)?)?)?)?)?)?)?)?)$/.test(after);
}

/** Whether this can no longer become a header or the empty line at the end. */
function isBrokenLine(line: string): boolean {
  if (line.endsWith('\n')) {
    if (line === '\r\n') return false;
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1, -2);
    return !line.endsWith('\r\n') || !TOKEN.test(line.slice(0, colon)) || !VALUE.test(value);
  }
  if (line === '' || line === '\r') return false;
  const [name = '', ...value] = line.split(':');
  return !TOKEN.test(name) || (value.length > 0 && !VALUE.test(value.join(':').replace(/\r$/, '')));
}

type Headers = ReadRequest['headers'];

/** The values of a header, in the order in which they came. */
export function valuesOf({ headers }: Pick<ReadRequest, 'headers'>, name: string): readonly string[] {
  return headers.filter(([each]) => each === name).map(([, value]) => value);
}

function framingOf(headers: Headers, version: string): Head['framing'] {
  const lengths = valuesOf({ headers }, 'content-length');
  const codings = valuesOf({ headers }, 'transfer-encoding');
  if (codings.length > 0) {
    const isChunked = codings.length === 1 && codings[0]?.toLowerCase() === 'chunked';
    return isChunked && lengths.length === 0 && version === '1.1' ? 'chunked' : 'broken';
  }
  const [length = '0'] = lengths;
  if (lengths.length > 1 || !/^\d+$/.test(length) || BigInt(length) >= 2n ** 64n) return 'broken';
  return Number(length);
}

function closes(version: string, headers: Headers): ReadRequest['closes'] {
  // Old clients mean the same by it, and a server may always close a connection after an answer.
  if (valuesOf({ headers }, 'proxy-connection').length > 0) return 'may';
  const [option = '', ...more] = valuesOf({ headers }, 'connection').map((value) => value.toLowerCase());
  if (more.length > 0 || !['', 'close', 'keep-alive'].includes(option)) return 'may';
  if (option === 'close' || (option === '' && version === '1.0')) return 'must';
  // A final answer without the body that the client holds back is the last one: RFC 9110, section 10.1.1.
  if (valuesOf({ headers }, 'expect').some((value) => /100-continue/i.test(value))) return 'may';
  // A server need not honour the option of HTTP/1.0: RFC 9112, section 9.3. Node does not for an answer without a length.
  return version === '1.0' ? 'may' : 'never';
}

/**
 * A trailer must not say this: RFC 9110, section 6.5.1. Node's parser obeys it, but the answer may be out by then. It
 * refuses the requests that follow.
 */
const CLOSING_TRAILER = /^(?:proxy-)?connection:[^\n]*\bclose\b/im;

type ReadBody = {
  readonly text: string;
  readonly end: number;
  readonly trailers?: string;
  readonly is: ReadRequest['bodyState'];
  readonly isOdd: boolean;
};

function readLength(text: string, at: number, length: number): ReadBody {
  const body = text.slice(at, at + length);
  return {
    text: body,
    end: at + length,
    is: body.length === length ? 'whole' : 'incomplete',
    isOdd: false,
  };
}

const SIZE = /^([0-9A-Fa-f]+)((?:;[!-~]*)?)\r\n$/;
const SIZE_SO_FAR = /^(?:[0-9A-Fa-f]+(?:;[!-~]*)?\r?)?$/;

function readChunks(text: string, begin: number): ReadBody {
  let body = '';
  let isOdd = false;
  const ended = (is: ReadRequest['bodyState'], end = text.length) => ({ text: body, end, is, isOdd });
  for (let at = begin; ; ) {
    const next = text.indexOf('\n', at);
    const line = text.slice(at, next === -1 ? undefined : next + 1);
    if (next === -1) return ended(SIZE_SO_FAR.test(line) ? 'incomplete' : 'broken');
    const [, hex, extension = ''] = SIZE.exec(line) ?? [];
    if (hex === undefined || BigInt(`0x${hex}`) >= 2n ** 64n) return ended('broken');
    isOdd ||= extension !== '';
    const size = Number(`0x${hex}`);
    at = next + 1;
    if (size === 0) {
      const trailers = readTrailers(text, at);
      // The trailers may be as long as headers.
      const { maxHeadersBytes } = SERVER_LIMITS;
      if (trailers.end - at > maxHeadersBytes + HEADER_SLACK_BYTES) return ended('broken');
      isOdd ||= trailers.end - at > maxHeadersBytes - HEADER_SLACK_BYTES;
      return { ...ended(trailers.is, trailers.end), trailers: text.slice(at, trailers.end) };
    }
    body += text.slice(at, at + size);
    at += size;
    const lineEnd = text.slice(at, at + 2);
    if (lineEnd !== '\r\n') return ended('\r\n'.startsWith(lineEnd) ? 'incomplete' : 'broken');
    at += 2;
  }
}

function readTrailers(text: string, begin: number): { is: ReadRequest['bodyState']; end: number } {
  for (let at = begin; ; ) {
    const next = text.indexOf('\n', at);
    const line = text.slice(at, next === -1 ? undefined : next + 1);
    const isFraming = /^(?:content-length|transfer-encoding):/i.test(line);
    if (isBrokenLine(line) || isFraming) return { is: 'broken', end: text.length };
    if (next === -1) return { is: 'incomplete', end: text.length };
    at = next + 1;
    if (line === '\r\n') return { is: 'whole', end: at };
  }
}
