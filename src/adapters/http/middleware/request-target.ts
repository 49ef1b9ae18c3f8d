import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Context, Middleware } from 'koa';
import { MAX_URL_BYTES } from '../contract/limits.ts';
import * as refusals from '../contract/refusals.ts';
import type { RequestLog } from '../contract/request-log.ts';

/** A host name or address with an optional port. Nothing that could end the `<…>` of a Link header. */
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/**
 * A path, or an absolute URL of HTTP (RFC 9112, section 3.2). Neither has a fragment or a backslash. Koa would drop a
 * fragment, read a backslash before it or in an absolute URL as a slash, and take the path out of URLs of any scheme.
 */
const TARGET = /^(?:\/|https?:\/\/|\*$)[^#\\]*$/i;

/** The longest address without a zone, in characters. Node also accepts a zone, of any length. */
const MAX_ADDRESS_LENGTH = 45;

/** An IPv4 address with a port, or an IPv6 address in brackets, which may have one: Azure and IIS forward the port. */
const WITH_PORT = /^(?:([\d.]+):\d+|\[([^\]]+)\](?::\d+)?)$/;

/** Refuses a request with an invalid target or host, or with more than one Host or Authorization header. */
export const checkTarget: Middleware = (ctx, next) => {
  const { req } = ctx;
  if (!TARGET.test(req.url ?? '') || !hasPath(ctx)) throw refusals.INVALID_TARGET;
  // Exactly one in HTTP/1.1: RFC 9112, section 3.2.
  const hosts = count(req.rawHeaders, 'host');
  if (hosts > 1 || (hosts === 0 && req.httpVersion === '1.1') || !AUTHORITY.test(authority(req))) {
    throw refusals.INVALID_HOST;
  }
  if (count(req.rawHeaders, 'authorization') > 1) throw refusals.REPEATED_AUTHORIZATION;
  return next();
};

export const checkLength: Middleware = ({ req: { url = '' } }, next) => {
  if (url.length > MAX_URL_BYTES) throw refusals.URL_TOO_LONG;
  return next();
};

/** Refuses invalid `X-Forwarded-*` headers. Only for services behind a trusted proxy. Others ignore these headers. */
export const checkForwarded: Middleware = ({ req }, next) => {
  const { proto, host } = forwarded(req);
  if (proto !== undefined && !/^https?$/i.test(proto)) throw refusals.INVALID_FORWARDED_PROTO;
  if (host !== undefined && !AUTHORITY.test(host)) throw refusals.INVALID_FORWARDED_HOST;
  return next();
};

/** The base of the absolute URLs in the answer to a request, without a trailing slash. */
export type BaseUrl = (request: IncomingMessage) => string;

/**
 * The base of the absolute URLs in an answer: `publicUrl` if it is set, otherwise what a trusted proxy forwards,
 * otherwise what the request says. {@link checkForwarded} and {@link checkTarget} have validated the latter two.
 */
export function baseUrl(publicUrl: string | undefined, trustProxy: boolean): BaseUrl {
  if (publicUrl !== undefined) return () => publicUrl;
  if (!trustProxy) return (request) => `${scheme(request)}://${authority(request)}`;
  return (request) => {
    const { proto = scheme(request), host = authority(request) } = forwarded(request);
    return `${proto.toLowerCase()}://${host}`;
  };
}

/**
 * The address of the client: what a trusted proxy forwards, if it is an address, otherwise that of the connection.
 * `undefined` when the connection is closed.
 */
export function clientAddress(request: IncomingMessage, trustProxy: boolean): string | undefined {
  return (trustProxy && forwardedAddress(request)) || request.socket.remoteAddress;
}

/**
 * The address that the nearest proxy forwards, without its port: empty when the value is no address, `undefined` when
 * there is no value.
 */
function forwardedAddress({ headers }: IncomingMessage): string | undefined {
  const value = last(headers['x-forwarded-for']);
  if (value === undefined) return undefined;
  const [, ipv4, ipv6] = WITH_PORT.exec(value) ?? [];
  const address = ipv4 ?? ipv6 ?? value;
  return address.length <= MAX_ADDRESS_LENGTH && isIP(address) !== 0 ? address : '';
}

/** Reports a trusted proxy that forwards something other than an address of the client. */
export function reportAddress(log: Pick<RequestLog, 'connectionError'>): Middleware {
  return ({ req }, next) => {
    if (forwardedAddress(req) === '') log.connectionError({ kind: 'no-address-from-proxy' });
    return next();
  };
}

/** The values of the nearest proxy; an empty one counts as absent. Earlier values in a list may come from the client. */
function forwarded({ headers }: IncomingMessage) {
  return { proto: last(headers['x-forwarded-proto']), host: last(headers['x-forwarded-host']) };
}

/** The last value of a list, unless it is empty. Node joins several headers into one list. */
function last(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header).split(',').at(-1)!.trim() || undefined;
}

function scheme({ socket }: IncomingMessage): 'http' | 'https' {
  return 'encrypted' in socket ? 'https' : 'http';
}

function authority({ headers: { host }, socket, url = '' }: IncomingMessage): string {
  // The absolute form of a target overrides the header: RFC 9112, section 3.2.2.
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(url);
  if (absolute !== null) return absolute[1]!;
  if (host !== undefined) return host;
  // Only for HTTP/1.0 without Host: reading the address of a socket takes longer.
  const { localAddress = '', localPort } = socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/** Koa parses the URL when its path is first read. That throws errors of several kinds for targets that Node accepts. */
function hasPath(ctx: Context): boolean {
  try {
    return typeof ctx.path === 'string';
  } catch {
    return false;
  }
}

/** How often a header occurs. Node silently keeps the first of several, while a proxy may use the last. */
function count(rawHeaders: readonly string[], name: string): number {
  // Comparing lengths first avoids most of the lower-casing.
  const isName = (raw: string, index: number) =>
    index % 2 === 0 && raw.length === name.length && raw.toLowerCase() === name;
  return rawHeaders.filter(isName).length;
}
