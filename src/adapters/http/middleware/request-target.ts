import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Context, Middleware } from 'koa';
import { MAX_URL_BYTES } from '../contract/limits.ts';
import * as refusals from '../contract/refusals.ts';
import type { RequestLog } from '../contract/request-log.ts';

/** A host with an optional port. No allowed character can end the `<…>` of a `Link` header. */
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * `*`, a path, or an absolute URL of HTTP (RFC 9112, section 3.2), without a fragment or backslash: see
 * docs/explanation/a-request.md.
 */
const TARGET = /^(?:\/|https?:\/\/|\*$)[^#\\]*$/i;

/** In characters. Node would accept an IPv6 address with a zone of any length. */
const MAX_ADDRESS_LENGTH = 45;

/** Azure and IIS add a port to the address. */
const ADDRESS_WITH_PORT = /^(?:([\d.]+):\d+|\[([^\]]+)\](?::\d+)?)$/;

export const checkTarget: Middleware = (ctx, next) => {
  const { req } = ctx;
  if (!TARGET.test(req.url ?? '') || !hasPath(ctx)) throw refusals.INVALID_TARGET;
  // HTTP/1.1 requires exactly one Host header: RFC 9112, section 3.2.
  const hostCount = countHeaders(req.rawHeaders, 'host');
  if (hostCount > 1 || (hostCount === 0 && req.httpVersion === '1.1') || !AUTHORITY.test(authority(req))) {
    throw refusals.INVALID_HOST;
  }
  if (countHeaders(req.rawHeaders, 'authorization') > 1) throw refusals.REPEATED_AUTHORIZATION;
  return next();
};

export const checkUrlLength: Middleware = ({ req: { url = '' } }, next) => {
  if (url.length > MAX_URL_BYTES) throw refusals.URL_TOO_LONG;
  return next();
};

/** Without a trusted proxy, the service ignores the forwarded headers. */
export const checkForwardedOrigin: Middleware = ({ req }, next) => {
  const { proto, host } = forwardedOrigin(req);
  if (proto !== undefined && !/^https?$/i.test(proto)) throw refusals.INVALID_FORWARDED_PROTO;
  if (host !== undefined && !AUTHORITY.test(host)) throw refusals.INVALID_FORWARDED_HOST;
  return next();
};

/** The base of the absolute URLs in an answer, without a trailing slash. */
export type BaseUrl = (request: IncomingMessage) => string;

/**
 * Uses the first of these that exists: `publicUrl`, the headers of a trusted proxy, the request itself.
 * {@link checkForwardedOrigin} and {@link checkTarget} validate the headers.
 */
export function baseUrl(publicUrl: string | undefined, trustProxy: boolean): BaseUrl {
  if (publicUrl !== undefined) return () => publicUrl;
  if (!trustProxy) return (request) => `${scheme(request)}://${authority(request)}`;
  return (request) => {
    const { proto = scheme(request), host = authority(request) } = forwardedOrigin(request);
    return `${proto.toLowerCase()}://${host}`;
  };
}

/** The valid address from a trusted proxy. Without such an address, the peer of the open connection. */
export function clientAddress(request: IncomingMessage, trustProxy: boolean): string | undefined {
  return (trustProxy && forwardedAddress(request)) || request.socket.remoteAddress;
}

/** The forwarded address without its port. Empty if it is invalid, `undefined` without the header. */
function forwardedAddress({ headers }: IncomingMessage): string | undefined {
  const value = lastValue(headers['x-forwarded-for']);
  if (value === undefined) return undefined;
  const [, ipv4, ipv6] = ADDRESS_WITH_PORT.exec(value) ?? [];
  const address = ipv4 ?? ipv6 ?? value;
  return address.length <= MAX_ADDRESS_LENGTH && isIP(address) !== 0 ? address : '';
}

export function reportInvalidAddress(log: Pick<RequestLog, 'connectionError'>): Middleware {
  return ({ req }, next) => {
    if (forwardedAddress(req) === '') log.connectionError({ kind: 'no-address-from-proxy' });
    return next();
  };
}

/** The last value of each header, from the nearest proxy. Earlier values may come from the client. */
function forwardedOrigin({ headers }: IncomingMessage) {
  return { proto: lastValue(headers['x-forwarded-proto']), host: lastValue(headers['x-forwarded-host']) };
}

function lastValue(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header).split(',').at(-1)!.trim() || undefined;
}

function scheme({ socket }: IncomingMessage): 'http' | 'https' {
  return 'encrypted' in socket ? 'https' : 'http';
}

function authority({ headers: { host }, socket, url = '' }: IncomingMessage): string {
  // The absolute form of a target overrides the header: RFC 9112, section 3.2.2.
  const absoluteUrl = /^https?:\/\/([^/?#]*)/i.exec(url);
  if (absoluteUrl !== null) return absoluteUrl[1]!;
  if (host !== undefined) return host;
  // A request of HTTP/1.0 may have no Host. The socket comes last, because reading its address is slow.
  const { localAddress = '', localPort } = socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/** Koa parses the URL at the first read of `path`, and may throw. */
function hasPath(ctx: Context): boolean {
  try {
    return typeof ctx.path === 'string';
  } catch {
    return false;
  }
}

function countHeaders(rawHeaders: readonly string[], name: string): number {
  const hasName = (text: string, index: number) =>
    index % 2 === 0 && text.length === name.length && text.toLowerCase() === name;
  return rawHeaders.filter(hasName).length;
}
