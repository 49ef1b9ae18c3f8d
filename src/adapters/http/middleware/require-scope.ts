import type { Middleware } from 'koa';
import type { Scope } from '../../../domain/api-key.ts';
import type { State } from '../wire/answer.ts';
import { REALM } from './authenticate.ts';
import { RequestRefused } from '../wire/errors.ts';

/** Lets only keys with this scope do what comes behind it. */
export function requireScope(scope: Scope): Middleware<State> {
  return (ctx, next) => {
    // There is a key: without one nobody comes this far.
    if (!ctx.state.caller!.scopes.includes(scope)) throw insufficientScope(scope);
    return next();
  };
}

/** RFC 6750, section 3.1. */
export function insufficientScope(scope: Scope): RequestRefused {
  return new RequestRefused('PERMISSION_DENIED', `the API key does not have the scope ${scope}`, {
    headers: ['WWW-Authenticate', `${REALM}, error="insufficient_scope", scope="${scope}"`],
  });
}
