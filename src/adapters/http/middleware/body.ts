import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { Middleware, ParameterizedContext } from 'koa';
import bodyParser from 'koa-bodyparser';
import { jsonErrorPosition } from '../../json/json-error-position.ts';
import { parseJson } from '../../json/exact-json.ts';
import { MAX_BODY_BYTES } from '../contract/limits.ts';
import * as refusals from '../contract/refusals.ts';
import type { State } from './state.ts';

/** RFC 8259 defines no parameters of this type, so the service ignores them. Only a charset must be utf-8. */
const JSON_TYPE =
  /^application\/json\s*(?:;\s*(?:(?:charset=(?:utf-8|"utf-8")|(?!charset=)[\w.+-]+=(?:[\w.+-]+|"[^"]*"))\s*)?)*$/i;

/** Node and iconv-lite decode each byte to one character. */
const BYTE_ENCODING = 'binary';

/** Node uses this pattern. */
const EXPECTS_CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

export function requireJson({ headers }: IncomingMessage): void {
  if (!JSON_TYPE.test(headers['content-type'] ?? '')) throw refusals.UNSUPPORTED_MEDIA_TYPE;
  if (!/^(?:identity)?$/i.test(headers['content-encoding'] ?? '')) throw refusals.UNSUPPORTED_CONTENT_CODING;
}

/**
 * Reads a body that has arrived together with its headers: see docs/explanation/a-request.md. Sends `100 Continue`,
 * because all checks before the body have succeeded (RFC 9110, section 10.1.1).
 */
const takeArrivedBody: Middleware = (ctx, next) => {
  const { req, res, request } = ctx;
  const length = Number(req.headers['content-length']);
  // koa-bodyparser would take the length modulo 2^32.
  if (length > MAX_BODY_BYTES) throw refusals.BODY_TOO_LARGE;
  if (req.httpVersion === '1.1' && EXPECTS_CONTINUE.test(req.headers.expect ?? '')) res.writeContinue();
  if (length > 0 && req.readableLength === length) {
    request.rawBody = (req.read(length) as Buffer).toString(BYTE_ENCODING);
    ctx['disableBodyParser'] = true;
  }
  return next();
};

/** A body that arrives later is read as bytes, not as JSON or UTF-8: see docs/decisions.md. */
const receiveBody = bodyParser({
  enableTypes: ['text'],
  extendTypes: { text: ['application/json'] },
  textLimit: `${MAX_BODY_BYTES}b`,
  encoding: BYTE_ENCODING,
  onerror: (error, { req }) => {
    // Discards the remaining bytes, so the connection can carry further requests.
    req.resume();
    // A refusal replaces an error that may contain the body, because no body may reach the log.
    const { status } = error as { readonly status?: number };
    if (status === 413) throw refusals.BODY_TOO_LARGE;
    // The client may disconnect before its body is read.
    if (status === 400 || req.destroyed) throw refusals.TRUNCATED_BODY;
    throw error;
  },
});

/**
 * Reads the body that {@link jsonObject} parses. {@link requireJson} runs before.
 *
 * @param authenticate called again after a wait for the body: the key may be revoked meanwhile
 */
export function readBody(authenticate: Middleware<State>): readonly Middleware<State>[] {
  return [
    takeArrivedBody,
    receiveBody,
    (ctx, next) => (ctx['disableBodyParser'] === true ? next() : authenticate(ctx, next)),
  ];
}

/** The decoder removes a byte order mark. */
const utf8Decoder = new TextDecoder();

export function jsonObject({ request }: ParameterizedContext): object {
  const bytes = Buffer.from(request.rawBody ?? '', BYTE_ENCODING);
  if (bytes.length === 0) throw refusals.EMPTY_BODY;
  if (!isUtf8(bytes)) throw refusals.BODY_NOT_UTF_8;
  const text = utf8Decoder.decode(bytes);
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw refusals.bodyNotJson(jsonErrorPosition(text, error));
    if (error instanceof RangeError) throw refusals.BODY_TOO_DEEP;
    throw error;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refusals.BODY_NOT_OBJECT;
  return value;
}
