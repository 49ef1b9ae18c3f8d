import type { Middleware } from 'koa';
import type { TokenVerifier } from '../../../application/ports/token-verifier.ts';
import type { State } from '../wire/answer.ts';
import { RequestRefused } from '../wire/errors.ts';

/** `Bearer` and a b64token: RFC 6750, section 2.1. The scheme name is case-insensitive: RFC 9110, section 11.1. */
const CREDENTIALS = /^bearer +([\w.~+/-]+=*) *$/i;

/** The scheme alone: what follows it may be malformed. */
const SCHEME = /^bearer(?![\w!#$%&'*+.^`|~-])/i;

/** How every challenge begins: RFC 6750, section 3. */
export const REALM = 'Bearer realm="petstore"';

// Made once: these are the answers that a flood brings, and an error with its stack costs a fifth of a request.
const NO_CREDENTIALS = unauthenticated('an API key is required, as "Authorization: Bearer <API_KEY>"', REALM);
const NOT_VALID = unauthenticated('the API key is not valid', `${REALM}, error="invalid_token"`);

/** Lets nobody under /v1 without an API key, and tells those without one nothing about what is there. */
export function authenticate(tokens: TokenVerifier): Middleware<State> {
  return async (ctx, next) => {
    if (!ctx.path.startsWith('/v1/') && ctx.path !== '/v1') return next();
    const authorization = ctx.req.headers.authorization ?? '';
    // Another scheme is no credentials for this one: RFC 6750, section 3.1.
    if (!SCHEME.test(authorization)) throw NO_CREDENTIALS;
    const token = CREDENTIALS.exec(authorization)?.[1];
    const key = token === undefined ? undefined : await tokens.verify(token);
    if (key === undefined) throw NOT_VALID;
    ctx.state.caller = key;
    return next();
  };
}

function unauthenticated(message: string, challenge: string): RequestRefused {
  return new RequestRefused('UNAUTHENTICATED', message, { headers: ['WWW-Authenticate', challenge] });
}
