import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { parseJson } from '../../json/parse-json.ts';
import { MAX_BODY_BYTES } from '../wire/limits.ts';
import {
  bodyNotAsEncoded,
  bodyNotJson,
  bodyNotObject,
  bodyNotUtf8,
  bodyTooDeep,
  bodyTooLarge,
  emptyBody,
  truncatedBody,
  unsupportedContentCoding,
  unsupportedMediaType,
} from '../wire/refusals.ts';

/** JSON with any parameters, because it defines none, but with no charset except utf-8. */
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
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw unsupportedMediaType();
  const coding = codingOf(ctx.req);
  if (!IDENTITY.includes(coding) && !DECODERS.has(coding)) throw unsupportedContentCoding();
  return next();
};

/**
 * Puts the bytes of the body into `ctx.request.body`, without their content coding. Belongs behind {@link requireJson}.
 *
 * koa-bodyparser reads the body, as bytes: its JSON parser would turn 9223372036854775807 into 9223372036854775808, and
 * broken UTF-8 into U+FFFD. It does not read an encoded body. It would inflate that with a stream that it abandons at
 * the limit without an error listener. Corrupt data behind the limit would then end the process.
 */
export const readBody: Middleware = (ctx, next) => {
  // Before co-body, which takes the length modulo 2^32.
  if (Number(ctx.req.headers['content-length']) > MAX_BODY_BYTES) throw bodyTooLarge();
  return IDENTITY.includes(ctx.req.headers['content-encoding'] ?? '')
    ? readPlain(ctx, next)
    : readEncoded(ctx, next);
};

const readPlain = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: ['application/json'] },
  textLimit: MAX_BODY_BYTES as unknown as string, // A number means bytes: https://github.com/visionmedia/bytes.js
  encoding: null as unknown as string, // Bytes instead of a string.
  onerror: (error, ctx) => {
    // Discards the rest. Otherwise the connection could carry no further request.
    ctx.req.resume();
    // Without the error as the cause: it carries the body, which does not belong in a log.
    const { status } = error as { readonly status?: number };
    if (status === 413) throw bodyTooLarge();
    if (status === 400) throw truncatedBody();
    throw error;
  },
});

const readEncoded: Middleware = async (ctx, next) => {
  const bytes = await allBytes(ctx.req);
  const coding = codingOf(ctx.req);
  const options = {
    maxOutputLength: MAX_BODY_BYTES,
    // A gzip body may consist of several members (RFC 1952, section 2.2). Node rejects anything else behind one.
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
  let length = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) throw bodyTooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    // Discards the rest. Otherwise the connection could carry no further request.
    request.resume();
    if (error instanceof Error && 'code' in error && error.code === 'ECONNRESET') throw truncatedBody();
    throw error;
  }
  return Buffer.concat(chunks);
}

function refuseEncoded(error: NodeJS.ErrnoException): never {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge();
  throw bodyNotAsEncoded();
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the bytes that {@link readBody} leaves in `ctx.request.body`.
 *
 * @throws {RequestRefused} when they are not a JSON object in UTF-8
 */
export function jsonObject(bytes: unknown): object {
  // koa-bodyparser says `{}` when there is no body.
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw emptyBody();
  const value = parsed(decoded(bytes));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bodyNotObject();
  return value;
}

function decoded(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw bodyNotUtf8();
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw bodyNotJson();
    if (error instanceof RangeError) throw bodyTooDeep();
    throw error;
  }
}
