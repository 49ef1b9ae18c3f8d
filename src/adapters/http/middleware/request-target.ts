import type { Context, Middleware } from 'koa';
import { RequestRefused } from '../wire/errors.ts';
import { MAX_URL_BYTES } from '../wire/limits.ts';

/** A host name or address with an optional port: nothing that could break out of the `<…>` of a Link header. */
const AUTHORITY = /^(?:[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;

/** Refuses a request whose target or host this service cannot make sense of. */
export const checkTarget: Middleware = (ctx, next) => {
  if (!hasPath(ctx)) throw new RequestRefused('INVALID_ARGUMENT', 'the request target is not a URL');
  const hosts = howMany('host', ctx);
  if (hosts > 1 || (hosts === 0 && ctx.req.httpVersion === '1.1') || !AUTHORITY.test(authority(ctx))) {
    throw new RequestRefused('INVALID_ARGUMENT', 'the request must have one valid Host header');
  }
  if (howMany('authorization', ctx) > 1) {
    throw new RequestRefused('INVALID_ARGUMENT', 'the request must have at most one Authorization header');
  }
  return next();
};

/** Refuses a request whose target is too long. */
export const checkLength: Middleware = ({ req: { url = '' } }, next) => {
  if (url.length > MAX_URL_BYTES)
    throw new RequestRefused('URI_TOO_LONG', `the URL must be at most ${MAX_URL_BYTES} bytes`);
  return next();
};

/**
 * Refuses a request with which the proxy has sent something that is no scheme or no host. Only for where a proxy is
 * trusted: from everybody else the headers are not looked at.
 */
export const checkForwarded: Middleware = (ctx, next) => {
  const { proto, host } = forwarded(ctx);
  if (proto !== undefined && !/^https?$/i.test(proto)) {
    throw new RequestRefused('INVALID_ARGUMENT', 'X-Forwarded-Proto must be http or https');
  }
  if (host !== undefined && !AUTHORITY.test(host)) {
    throw new RequestRefused('INVALID_ARGUMENT', 'X-Forwarded-Host must be a host with an optional port');
  }
  return next();
};

/**
 * Where the service is for this client: the base of the absolute URLs in its answers. `publicUrl` when it is set; else
 * what the proxy says, if there is one, which {@link checkForwarded} has looked over; else what the request says,
 * which {@link checkTarget} has looked over.
 */
export function baseUrl(publicUrl: string | undefined, trustProxy: boolean): (ctx: Context) => string {
  if (publicUrl !== undefined) return () => publicUrl;
  if (!trustProxy) return (ctx) => `http://${authority(ctx)}`;
  return (ctx) => {
    const { proto = 'http', host = authority(ctx) } = forwarded(ctx);
    return `${proto.toLowerCase()}://${host}`;
  };
}

type Forwarded = { readonly proto: string | undefined; readonly host: string | undefined };

/** What the proxy next to us says. Whatever stands before that in a list may come from the client. */
function forwarded({ req: { headers } }: Context): Forwarded {
  return { proto: last(headers['x-forwarded-proto']), host: last(headers['x-forwarded-host']) };
}

/** Of a list, in one header or in several, which Node joins. */
function last(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : String(header).split(',').at(-1)!.trim();
}

function authority({ req }: Context): string {
  // The absolute form of a target overrides the header: RFC 9112, section 3.2.2.
  const absolute = /^https?:\/\/([^/?#]*)/i.exec(req.url ?? '');
  if (absolute !== null) return absolute[1]!;
  const { host } = req.headers;
  // Asking the socket costs more, and only HTTP/1.0 needs it.
  if (host !== undefined) return host;
  const { localAddress = '', localPort } = req.socket;
  return `${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}

/** Koa's path is parsed when it is first read, and that throws for some of what Node lets through. */
function hasPath(ctx: Context): boolean {
  try {
    return typeof ctx.path === 'string';
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

// Of several Host or Authorization headers Node keeps the first and says nothing, where a proxy may go by the last.
// RFC 9112, section 3.2 wants 400 for Host.
function howMany(name: string, { req: { rawHeaders } }: Context): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const raw = rawHeaders[i]!;
    if (raw.length === name.length && raw.toLowerCase() === name) count++;
  }
  return count;
}
