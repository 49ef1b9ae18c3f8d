import type { Context, Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';
import { RequestRefused } from './errors.ts';
import { parseJson } from './json.ts';

/** The longest request body in bytes, as sent and after inflation. */
export const BODY_LIMIT = 64 * 1024;

const JSON_TYPE = /^application\/json\s*(?:;\s*charset=(?:utf-8|"utf-8")\s*)?$/i;

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

/**
 * Reads the body as bytes. koa-bodyparser would parse JSON with loss of digits and decode broken UTF-8 to
 * U+FFFD, so that it is only asked for the bytes: `encoding: null`, as if they were text.
 */
export const readBody: Middleware = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: ['application/json'] },
  textLimit: BODY_LIMIT as unknown as string, // A number is bytes: https://github.com/visionmedia/bytes.js
  encoding: null as unknown as string,
  onerror: (error, ctx) => {
    throw refusal(error, ctx.get('Content-Encoding') !== '');
  },
});

// Not kept as the cause: the error carries the body, which must not reach the log.
function refusal(error: Error & { readonly status?: number }, encoded: boolean): unknown {
  switch (error.status) {
    case 413:
      return new RequestRefused(
        'PAYLOAD_TOO_LARGE',
        `the body must be at most ${BODY_LIMIT} bytes, also when inflated`,
      );
    case 415:
      return new RequestRefused(
        'UNSUPPORTED_MEDIA_TYPE',
        'Content-Encoding must be gzip, deflate, br or identity',
      );
    case 400:
      return new RequestRefused('MALFORMED_JSON', 'the body ended too early');
    default:
      // zlib's errors have no status.
      return encoded
        ? new RequestRefused('MALFORMED_JSON', 'the body does not match its Content-Encoding')
        : error;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON value in the body that {@link readBody} has read. */
export function jsonBody(ctx: Context): unknown {
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
  try {
    return parseJson(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
    const problem = cause instanceof RangeError ? 'is nested too deeply' : 'is not JSON';
    throw new RequestRefused('MALFORMED_JSON', `the body ${problem}`);
  }
}
