import type { Call, KeyChange, Request } from './history.ts';
import type { Report } from './violation.ts';

/** How long a service may accept a key after its revocation was acknowledged. */
export const REVOKED_WITHIN_MS = 10_000;

/**
 * Between its acknowledged creation and the begin of its revocation, every service accepts an API key. From ten seconds
 * after the acknowledged revocation, none does. An answer of 503 says neither.
 */
export function checkKeys(calls: readonly Call[], report: Report): void {
  const changes = calls.filter(({ type }) => type === 'key created' || type === 'key revoked') as KeyChange[];
  const byKey = Map.groupBy(changes, ({ apiKey }) => apiKey);
  for (const call of calls) {
    if (!('status' in call) || call.status === undefined || call.status >= 500) continue;
    const { apiKey = 'the key in API_KEYS', status } = call;
    const keyChanges = byKey.get(apiKey) ?? [];
    if (status === 401) {
      const isKnown =
        call.apiKey === undefined || keyChanges.some((change) => isCreationBefore(change, call));
      const mayBeRevoked = keyChanges.some(
        ({ type, beginMs }) => type === 'key revoked' && beginMs <= call.endMs,
      );
      if (isKnown && !mayBeRevoked) report('valid key refused', apiKey, 'was refused', ...keyChanges, call);
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
