import type { Middleware } from 'koa';
import type { RequestLog } from '../contract/request-log.ts';
import { forwarded, forwardedAddress } from './request-target.ts';

/**
 * Reports, once each, that the trusted proxy forwards no address of the client, and that it takes requests over http
 * although the public URL is one of https.
 */
export function reportProxy(
  log: Pick<RequestLog, 'connectionTrouble'>,
  publicUrl: string | undefined,
): Middleware {
  let hasAddresses = true;
  let isSecure = publicUrl?.startsWith('https:') === true;
  return ({ req }, next) => {
    if (hasAddresses && forwardedAddress(req) === '') {
      hasAddresses = false;
      log.connectionTrouble({ kind: 'no-address-from-proxy' });
    }
    if (isSecure && forwarded(req).proto?.toLowerCase() === 'http') {
      isSecure = false;
      log.connectionTrouble({ kind: 'http-at-proxy' });
    }
    return next();
  };
}
