import { METHODS } from 'node:http';
import { SERVER_LIMITS } from '../../src/adapters/http/server/limits.ts';

/** A request, read strictly by RFC 9112. */
export type ReadRequest = {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  /** In the order in which they arrived. The names are in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** `incomplete`: bytes are missing at the end. `broken`: a chunk or a trailer is not valid HTTP. */
  readonly bodyState: 'whole' | 'incomplete' | 'broken';
  /** Whether the service must, may or must not close the connection after its answer. */
  readonly closeRule: 'must' | 'may' | 'never';
  /** A part of the request is unusual. The service may answer it normally, or refuse it and close the connection. */
  readonly isOdd: boolean;
};

/**
 * What follows the last request:
 * - `incomplete`: the beginning of a request whose headers are not finished
 * - `broken`: bytes that are not a valid request
 * - `ignored`: bytes that the service must ignore, because the last request ends the connection. There may be none
 * - `tunnel`: a CONNECT request. The service closes the connection, and may leave any request unanswered
 */
type Rest = 'nothing' | 'incomplete' | 'broken' | 'ignored' | 'tunnel';

export type ReadStream = {
  readonly requests: readonly ReadRequest[];
  readonly rest: Rest;
  /** The bytes after the last request, as Latin-1 text. */
  readonly restText: string;
};

/** The form of a header name. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** A Transfer-Encoding header with a tab at its end. RFC 9112 allows the tab, but Node refuses it. */
const ODD_CODING = /^transfer-encoding:.*\t$/i;
const OUTER_SPACE = /^[\t ]+|[\t ]+$/g;
const METHOD_NAMES = new Set(METHODS);
const MAX_METHOD_LENGTH = Math.max(...METHODS.map((method) => method.length));

/**
 * Node counts the bytes of the headers without some separators. This file counts all bytes. The two counts differ by at
 * most this number.
 */
const HEADER_SLACK_BYTES = 2_500;

/**
 * Reads the requests in the bytes of a connection, strictly by RFC 9112. It allows two deviations, as Node's parser and
 * most servers do: empty lines before a request, and several spaces between the parts of the first line.
 */
export function readRequests(bytes: Buffer): ReadStream {
  const text = bytes.toString('latin1');
  const requests: ReadRequest[] = [];
  let isAfterClosingTrailer = false;
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
      bodyState: body.state,
      isOdd: request.isOdd || body.isOdd || isAfterClosingTrailer,
    });
    isAfterClosingTrailer ||= CLOSING_TRAILER.test(body.trailers ?? '');
    const isLast = body.state !== 'whole' || request.closeRule === 'must';
    if (isLast) return { requests, rest: 'ignored', restText: text.slice(body.end) };
    at = body.end;
  }
}

type Head = {
  readonly request: Omit<ReadRequest, 'body' | 'bodyState'>;
  /** The position after the head, where the body begins. */
  readonly end: number;
  /** The length of the body in bytes, or `chunked`. `broken`: the headers do not say where the body ends. */
  readonly framing: number | 'chunked' | 'broken';
};

function readHead(text: string, at: number): Head | 'incomplete' | 'broken' {
  const lines: string[] = [];
  let end = at;
  for (;;) {
    const next = text.indexOf('\n', end);
    const line = text.slice(end, next === -1 ? undefined : next + 1);
    const problem = lines.length === 0 ? isBrokenRequestLine(line) : isBrokenHeader(line);
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
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).replaceAll(OUTER_SPACE, '')] as const;
  });
  const isLarge = end - at > SERVER_LIMITS.maxHeadersBytes - HEADER_SLACK_BYTES;
  const isOddTarget = !/^(?:\/|\*|https?:\/\/[\w.-]+(?::\d+)?(?![^/?]))/i.test(target);
  const request = {
    method,
    target,
    version: version as '1.0' | '1.1',
    headers,
    closeRule: closeRuleOf(version, headers),
    isOdd: isLarge || isOddTarget || lines.some((line) => ODD_CODING.test(line)),
  };
  return { request, end, framing: framingOf(headers, version) };
}

/** Whether every line that begins with this text is an invalid request line. The text may be an unfinished line. */
function isBrokenRequestLine(line: string): boolean {
  const [method = '', ...otherParts] = line.split(' ');
  if (otherParts.length === 0) {
    const lineText = line.replace(/\r?\n$/, '');
    if (lineText !== line) return true;
    return line.length > MAX_METHOD_LENGTH || !METHODS.some((known) => known.startsWith(line));
  }
  if (!METHOD_NAMES.has(method)) return true;
  const afterMethod = line.slice(method.length).replace(/^ +/, '');
  const targetAndVersion = /^[!-~]* +HTTP\/1\.[01]\r\n$/;
  if (line.endsWith('\n')) return !targetAndVersion.test(afterMethod) || afterMethod.startsWith(' ');
  return !/^(?:[!-~]*|[!-~]+ +(?:H(?:T(?:T(?:P(?:\/(?:1(?:\.(?:[01]\r?)?)?)?)?)?)?)?)?)$/.test(afterMethod);
}

/** Whether every line that begins with this text is an invalid header. The empty line after the headers is valid. */
function isBrokenHeader(line: string): boolean {
  if (line.endsWith('\n')) {
    if (line === '\r\n') return false;
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1, -2);
    return !line.endsWith('\r\n') || !TOKEN.test(line.slice(0, colon)) || !HEADER_VALUE.test(value);
  }
  if (line === '' || line === '\r') return false;
  const [name = '', ...value] = line.split(':');
  return !TOKEN.test(name) || (value.length > 0 && !HEADER_VALUE.test(value.join(':').replace(/\r$/, '')));
}

type Headers = ReadRequest['headers'];

/** The values of a header, in the order in which they arrived. `name` is in lower case. */
export function valuesOf({ headers }: Pick<ReadRequest, 'headers'>, name: string): readonly string[] {
  return headers.filter(([headerName]) => headerName === name).map(([, value]) => value);
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

function closeRuleOf(version: string, headers: Headers): ReadRequest['closeRule'] {
  // Old clients send this header in place of `Connection`. A server may close a connection after any answer.
  if (valuesOf({ headers }, 'proxy-connection').length > 0) return 'may';
  const [option = '', ...extra] = valuesOf({ headers }, 'connection').map((value) => value.toLowerCase());
  if (extra.length > 0 || !['', 'close', 'keep-alive'].includes(option)) return 'may';
  if (option === 'close' || (option === '' && version === '1.0')) return 'must';
  // The client waits with its body. A server that answers without reading the body may close the connection: RFC 9110,
  // section 10.1.1.
  if (valuesOf({ headers }, 'expect').some((value) => /100-continue/i.test(value))) return 'may';
  // A server may ignore the `keep-alive` of HTTP/1.0: RFC 9112, section 9.3. Node ignores it if the answer has no
  // length.
  return version === '1.0' ? 'may' : 'never';
}

/**
 * `Connection: close` in a trailer, where RFC 9110, section 6.5.1, forbids it. Node's parser obeys it and refuses later
 * requests. If the service has sent the answer by then, the answer does not say that the connection closes.
 */
const CLOSING_TRAILER = /^(?:proxy-)?connection:[^\n]*\bclose\b/im;

type ReadBody = {
  readonly text: string;
  readonly end: number;
  readonly trailers?: string;
  readonly state: ReadRequest['bodyState'];
  readonly isOdd: boolean;
};

function readLength(text: string, at: number, length: number): ReadBody {
  const body = text.slice(at, at + length);
  return {
    text: body,
    end: at + length,
    state: body.length === length ? 'whole' : 'incomplete',
    isOdd: false,
  };
}

const CHUNK_SIZE_LINE = /^([0-9A-Fa-f]+)((?:;[!-~]*)?)\r\n$/;
const UNFINISHED_SIZE_LINE = /^(?:[0-9A-Fa-f]+(?:;[!-~]*)?\r?)?$/;

function readChunks(text: string, begin: number): ReadBody {
  let body = '';
  let isOdd = false;
  const result = (state: ReadRequest['bodyState'], end = text.length) => ({ text: body, end, state, isOdd });
  for (let at = begin; ; ) {
    const next = text.indexOf('\n', at);
    const line = text.slice(at, next === -1 ? undefined : next + 1);
    if (next === -1) return result(UNFINISHED_SIZE_LINE.test(line) ? 'incomplete' : 'broken');
    const [, hex, extension = ''] = CHUNK_SIZE_LINE.exec(line) ?? [];
    if (hex === undefined || BigInt(`0x${hex}`) >= 2n ** 64n) return result('broken');
    isOdd ||= extension !== '';
    const size = Number(`0x${hex}`);
    at = next + 1;
    if (size === 0) {
      const trailers = readTrailers(text, at);
      // The limit of the headers also applies to the trailers.
      const { maxHeadersBytes } = SERVER_LIMITS;
      if (trailers.end - at > maxHeadersBytes + HEADER_SLACK_BYTES) return result('broken');
      isOdd ||= trailers.end - at > maxHeadersBytes - HEADER_SLACK_BYTES;
      return { ...result(trailers.state, trailers.end), trailers: text.slice(at, trailers.end) };
    }
    body += text.slice(at, at + size);
    at += size;
    const lineEnd = text.slice(at, at + 2);
    if (lineEnd !== '\r\n') return result('\r\n'.startsWith(lineEnd) ? 'incomplete' : 'broken');
    at += 2;
  }
}

function readTrailers(text: string, begin: number): { state: ReadRequest['bodyState']; end: number } {
  for (let at = begin; ; ) {
    const next = text.indexOf('\n', at);
    const line = text.slice(at, next === -1 ? undefined : next + 1);
    const isFraming = /^(?:content-length|transfer-encoding):/i.test(line);
    if (isBrokenHeader(line) || isFraming) return { state: 'broken', end: text.length };
    if (next === -1) return { state: 'incomplete', end: text.length };
    at = next + 1;
    if (line === '\r\n') return { state: 'whole', end: at };
  }
}
