import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import type { Context, Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { RequestRefused } from '../wire/errors.ts';
import { parseJson } from '../../json/parse-json.ts';
import { MAX_BODY_BYTES } from '../wire/limits.ts';

/** JSON with any parameters, since it defines none, but of the charsets only utf-8. */
const JSON_TYPE =
  /^application\/json\s*(?:;\s*(?:(?:charset=(?:utf-8|"utf-8")|(?!charset=)[\w.+-]+=(?:[\w.+-]+|"[^"]*"))\s*)?)*$/i;

/** Refuses a body that is not JSON in UTF-8 by its media type. */
export const requireJson: Middleware = (ctx, next) => {
  if (!JSON_TYPE.test(ctx.get('Content-Type'))) {
    throw new RequestRefused(
      'UNSUPPORTED_MEDIA_TYPE',
      'Content-Type must be application/json, with no charset but utf-8',
    );
  }
  return next();
};

/** Content codings, which are case-insensitive: RFC 9110, section 8.4.1. `undefined` leaves the bytes as they are. */
const DECODERS = new Map([
  ['', undefined],
  ['identity', undefined],
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/**
 * Reads the body as bytes, as they were before they were encoded.
 *
 * What koa-bodyparser would do itself is kept from it: it parses JSON with loss of digits and turns broken UTF-8
 * into U+FFFD; it inflates with a stream that it abandons at the limit without a listener of its errors, so that
 * a corrupt rest of it would end the process.
 */
export const readBody: Middleware = async (ctx, next) => {
  const { headers } = ctx.req;
  const coding = (headers['content-encoding'] ?? '').toLowerCase();
  if (!DECODERS.has(coding)) {
    throw new RequestRefused(
      'UNSUPPORTED_MEDIA_TYPE',
      'Content-Encoding must be gzip, deflate, br or identity',
    );
  }
  // co-body takes the length modulo 2^32.
  if (Number(headers['content-length']) > MAX_BODY_BYTES) throw tooLarge();
  delete headers['content-encoding'];
  await readBytes(ctx, async () => {});
  const { request } = ctx;
  const decode = DECODERS.get(coding);
  if (decode !== undefined && Buffer.isBuffer(request.rawBody)) {
    request.rawBody = (await decode(request.rawBody, {
      maxOutputLength: MAX_BODY_BYTES,
      // gzip may go on with another member (RFC 1952, section 2.2), and Node looks whether it does.
      rejectGarbageAfterEnd: !coding.endsWith('gzip'),
    }).catch(refuseEncoded)) as never;
  }
  return next();
};

/** `encoding: null` gives the bytes, as if they were text. */
const readBytes = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: ['application/json'] },
  textLimit: MAX_BODY_BYTES as unknown as string, // A number is bytes: https://github.com/visionmedia/bytes.js
  encoding: null as unknown as string,
  onerror: (error, ctx) => {
    // The rest is thrown away, or nothing more could be read from this connection.
    ctx.req.resume();
    throw refusal(error);
  },
});

// Not kept as the cause: the error carries the body, which must not reach the log.
function refusal(error: Error & { readonly status?: number }): unknown {
  if (error.status === 413) return tooLarge();
  if (error.status === 400) return new RequestRefused('MALFORMED_JSON', 'the body ended too early');
  return error;
}

function refuseEncoded(error: NodeJS.ErrnoException): never {
  if (error.code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
  throw new RequestRefused('MALFORMED_JSON', 'the body does not match its Content-Encoding');
}

function tooLarge(): RequestRefused {
  return new RequestRefused(
    'PAYLOAD_TOO_LARGE',
    `the body must be at most ${MAX_BODY_BYTES} bytes, also when inflated`,
  );
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON object in the body that {@link readBody} has read. */
export function jsonBody(ctx: Context): object {
  const bytes: unknown = ctx.request.rawBody;
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) {
    throw new RequestRefused('MALFORMED_JSON', 'the body is empty; it must be a JSON object');
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch (cause) {
    throw new RequestRefused('MALFORMED_JSON', 'the body is not UTF-8', { cause });
  }
  const value = parsed(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RequestRefused('INVALID_ARGUMENT', 'the body must be a JSON object');
  }
  return value;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
    const problem = cause instanceof RangeError ? 'is nested too deeply' : 'is not JSON';
    throw new RequestRefused('MALFORMED_JSON', `the body ${problem}`);
  }
}
