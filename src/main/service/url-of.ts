import type { HttpServer } from '../../adapters/http/server/listen.ts';
import type { Config } from '../config/config.ts';

/** Where a server listens, such as `http://127.0.0.1:3000`. */
export function urlOf(
  { host, tls }: Pick<Config, 'host'> & { readonly tls?: unknown },
  { port }: HttpServer,
): string {
  const scheme = tls === undefined ? 'http' : 'https';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
