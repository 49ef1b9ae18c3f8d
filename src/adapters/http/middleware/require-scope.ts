import type { Middleware } from 'koa';
import type { Scope } from '../../../domain/api-key.ts';
import { insufficientScope } from '../wire/refusals.ts';
import type { State } from './state.ts';

/** Refuses API keys without this scope. Belongs behind `authenticate`. */
export function requireScope(scope: Scope): Middleware<State> {
  return (ctx, next) => {
    if (!ctx.state.caller!.scopes.includes(scope)) throw insufficientScope(scope);
    return next();
  };
}
