import type { Middleware } from 'koa';
import type { TokenVerifier } from '../../../application/ports/token-verifier.ts';
import { INVALID_KEY, NO_CREDENTIALS } from '../wire/refusals.ts';
import type { State } from './state.ts';

/** `Bearer` and a b64token: RFC 6750, section 2.1. The scheme name is case-insensitive: RFC 9110, section 11.1. */
const CREDENTIALS = /^bearer +([\w.~+/-]+=*) *$/i;

/** The scheme alone. The token after it may be malformed. */
const SCHEME = /^bearer(?![\w!#$%&'*+.^`|~-])/i;

/** Requires a valid API key for every path under `/v1`, existing or not. */
export function authenticate(tokens: TokenVerifier): Middleware<State> {
  return async (ctx, next) => {
    if (!ctx.path.startsWith('/v1/') && ctx.path !== '/v1') return next();
    const authorization = ctx.req.headers.authorization ?? '';
    // A request with another scheme lacks credentials: RFC 6750, section 3.1.
    if (!SCHEME.test(authorization)) throw NO_CREDENTIALS;
    const token = CREDENTIALS.exec(authorization)?.[1];
    const caller = token === undefined ? undefined : await tokens.verify(token);
    if (caller === undefined) throw INVALID_KEY;
    ctx.state.caller = caller;
    return next();
  };
}
