import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { jsonErrorPlace } from '../../json/json-error-place.ts';
import { parseJson } from '../../json/parse-json.ts';
import { MAX_BODY_BYTES } from '../wire/limits.ts';
import {
  BODY_NOT_AS_ENCODED,
  bodyNotJson,
  BODY_NOT_OBJECT,
  BODY_NOT_UTF_8,
  BODY_TOO_DEEP,
  BODY_TOO_LARGE,
  EMPTY_BODY,
  TRUNCATED_BODY,
  UNSUPPORTED_CONTENT_CODING,
  UNSUPPORTED_MEDIA_TYPE,
} from '../wire/refusals.ts';

/** JSON. Any parameter is allowed, because the type defines none, but the only charset is utf-8. */
const JSON_TYPE =
  /^application\/json\s*(?:;\s*(?:(?:charset=(?:utf-8|"utf-8")|(?!charset=)[\w.+-]+=(?:[\w.+-]+|"[^"]*"))\s*)?)*$/i;

const IDENTITY = ['', 'identity'];

/** The content codings besides identity. */
const DECODERS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** Refuses a body by its media type, charset or content coding. */
export const requireJson: Middleware = (ctx, next) => {
  const { headers } = ctx.req;
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw UNSUPPORTED_MEDIA_TYPE;
  const coding = codingOf(ctx.req);
  if (!IDENTITY.includes(coding) && !DECODERS.has(coding)) throw UNSUPPORTED_CONTENT_CODING;
  return next();
};

/**
 * Puts the bytes of the body into `ctx.request.body`, without their content coding. Belongs after {@link requireJson}.
 *
 * koa-bodyparser reads the body, as bytes: its JSON parser would turn 9223372036854775807 into 9223372036854775808, and
 * broken UTF-8 into U+FFFD. It does not read an encoded body. It would inflate that with a stream that it abandons at
 * the limit without an error listener. Corrupt data after the limit would then end the process. Nor does it read a body
 * that has already arrived, because it is slower.
 *
 * @param afterWaiting runs before the next middleware when the request had to wait for its body
 */
export function readBody(afterWaiting: Middleware): Middleware {
  return async (ctx, next) => {
    const { req, request } = ctx;
    // Before co-body, which takes the length modulo 2^32.
    if (Number(req.headers['content-length']) > MAX_BODY_BYTES) throw BODY_TOO_LARGE;
    const isPlain = IDENTITY.includes(codingOf(req));
    if (isPlain && req.complete) {
      request.body = arrivedBytes(req);
      return next();
    }
    const resume = () => afterWaiting(ctx, next);
    return isPlain ? readPlain(ctx, resume) : readEncoded(ctx, resume);
  };
}

/** The body of a request that has arrived completely. */
function arrivedBytes(request: IncomingMessage): Buffer {
  const chunks: Buffer[] = [];
  for (;;) {
    const chunk = request.read() as Buffer | null;
    if (chunk === null) break;
    chunks.push(chunk);
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  if (bytes.length > MAX_BODY_BYTES) throw BODY_TOO_LARGE;
  return bytes;
}

const readPlain = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: ['application/json'] },
  textLimit: MAX_BODY_BYTES as unknown as string, // A number means bytes: https://github.com/visionmedia/bytes.js
  encoding: null as unknown as string, // Bytes instead of a string.
  onerror: (error, ctx) => {
    // Discards the rest, so the connection can carry further requests.
    ctx.req.resume();
    // Drops the error instead of passing it on as the cause: it carries the body, which must not reach the log.
    const { status } = error as { readonly status?: number };
    if (status === 413) throw BODY_TOO_LARGE;
    if (status === 400) throw TRUNCATED_BODY;
    throw error;
  },
});

const readEncoded: Middleware = async (ctx, next) => {
  const bytes = await allBytes(ctx.req);
  const coding = codingOf(ctx.req);
  const options = {
    maxOutputLength: MAX_BODY_BYTES,
    // A gzip body may consist of several members (RFC 1952, section 2.2). Node rejects anything else after one.
    rejectGarbageAfterEnd: !coding.endsWith('gzip'),
  };
  ctx.request.body = (await DECODERS.get(coding)?.(bytes, options).catch(refuseEncoded)) ?? bytes;
  return next();
};

/** RFC 9110, section 8.4.1: codings are case-insensitive. */
function codingOf({ headers }: IncomingMessage): string {
  return (headers['content-encoding'] ?? '').toLowerCase();
}

async function allBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let lengthBytes = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      lengthBytes += chunk.length;
      if (lengthBytes > MAX_BODY_BYTES) throw BODY_TOO_LARGE;
      chunks.push(chunk);
    }
  } catch (error) {
    // Discards the rest, so the connection can carry further requests.
    request.resume();
    if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') throw TRUNCATED_BODY;
    throw error;
  }
  return Buffer.concat(chunks);
}

function refuseEncoded(error: NodeJS.ErrnoException): never {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') throw BODY_TOO_LARGE;
  throw BODY_NOT_AS_ENCODED;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the bytes that {@link readBody} leaves in `ctx.request.body`.
 *
 * @throws {RequestRefused} when they are not a JSON object in UTF-8
 */
export function jsonObject(bytes: unknown): object {
  // koa-bodyparser returns `{}` when there is no body.
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw EMPTY_BODY;
  const value = parsed(decoded(bytes));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw BODY_NOT_OBJECT;
  return value;
}

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw BODY_NOT_UTF_8;
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw bodyNotJson(jsonErrorPlace(text, error));
    if (error instanceof RangeError) throw BODY_TOO_DEEP;
    throw error;
  }
}
