import type { HttpServer } from '../../adapters/http/server/listen.ts';

/** Where a server listens, such as `http://127.0.0.1:3000`. */
export function urlOf(host: string, { port }: Pick<HttpServer, 'port'>): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
