import type { Middleware } from 'koa';
import type { RequestLog } from '../contract/request-log.ts';
import { forwarded, forwardedAddress } from './request-target.ts';

/**
 * Reports that the trusted proxy forwards no address of the client, and that it takes requests over http although the
 * public URL is one of https.
 */
export function reportProxy(
  log: Pick<RequestLog, 'connectionTrouble'>,
  publicUrl: string | undefined,
): Middleware {
  const isSecure = publicUrl?.startsWith('https:') === true;
  return ({ req }, next) => {
    if (forwardedAddress(req) === '') log.connectionTrouble({ kind: 'no-address-from-proxy' });
    if (isSecure && forwarded(req).proto?.toLowerCase() === 'http')
      log.connectionTrouble({ kind: 'http-at-proxy' });
    return next();
  };
}
