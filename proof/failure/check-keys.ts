import type { Call, KeyChange, Request } from './history.ts';
import type { Report } from './violation.ts';

/** A service may still accept a key in the ten seconds after the command that revoked the key has ended. */
export const REVOKED_WITHIN_MS = 10_000;

/**
 * Checks two rules. Every service accepts an API key after its creation was acknowledged, until its revocation begins.
 * No service accepts the key ten seconds after its revocation was acknowledged. The check ignores each 5xx, because it
 * does not show whether the service accepted the key.
 */
export function checkKeys(calls: readonly Call[], report: Report): void {
  const updates = calls.filter(({ type }) => type === 'key created' || type === 'key revoked') as KeyChange[];
  const byKey = Map.groupBy(updates, ({ apiKey }) => apiKey);
  for (const call of calls) {
    if (!('status' in call) || call.status === undefined || call.status >= 500) continue;
    const { apiKey = 'the key in API_KEYS', status } = call;
    const changes = byKey.get(apiKey) ?? [];
    if (status === 401) {
      const isCreated = call.apiKey === undefined || changes.some((change) => isCreationBefore(change, call));
      const isRevoking = changes.some(({ type, beginMs }) => type === 'key revoked' && beginMs <= call.endMs);
      if (isCreated && !isRevoking) report('valid key refused', apiKey, 'was refused', ...changes, call);
    } else {
      const revocation = changes.find((change) => isRevocationLongBefore(change, call));
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
