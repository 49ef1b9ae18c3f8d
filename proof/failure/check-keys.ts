import type { Call, KeyChange, Request } from './history.ts';
import type { Report } from './violation.ts';

/** A service may accept a key for this long after the command that revoked the key has ended. */
export const REVOKED_WITHIN_MS = 10_000;

/**
 * Checks two rules. Every service accepts an API key after its creation was acknowledged, until its revocation begins.
 * No service accepts the key ten seconds after its revocation was acknowledged. A 5xx does not show whether the service
 * accepted the key, so it is ignored.
 */
export function checkKeys(calls: readonly Call[], report: Report): void {
  const changes = calls.filter(({ type }) => type === 'key created' || type === 'key revoked') as KeyChange[];
  const byKey = Map.groupBy(changes, ({ apiKey }) => apiKey);
  for (const call of calls) {
    if (!('status' in call) || call.status === undefined || call.status >= 500) continue;
    const { apiKey = 'the key in API_KEYS', status } = call;
    const keyChanges = byKey.get(apiKey) ?? [];
    if (status === 401) {
      const isCreated =
        call.apiKey === undefined || keyChanges.some((change) => isCreationBefore(change, call));
      const mayBeRevoked = keyChanges.some(
        ({ type, beginMs }) => type === 'key revoked' && beginMs <= call.endMs,
      );
      if (isCreated && !mayBeRevoked) report('valid key refused', apiKey, 'was refused', ...keyChanges, call);
    } else {
      const revocation = keyChanges.find((change) => isRevocationLongBefore(change, call));
      if (revocation) report('revoked key accepted', apiKey, 'was accepted', revocation, call);
    }
  }
}

function isCreationBefore({ type, outcome, endMs }: KeyChange, call: Request): boolean {
  return type === 'key created' && outcome === 'acknowledged' && endMs < call.beginMs;
}

function isRevocationLongBefore({ type, outcome, endMs }: KeyChange, call: Request): boolean {
  return type === 'key revoked' && outcome === 'acknowledged' && endMs + REVOKED_WITHIN_MS < call.beginMs;
}
