import type { ApiKeyRecord } from '../../domain/api-key.ts';
import { openCommandLog } from '../log.ts';

const WORDS = {
  'key.created': 'key created',
  'key.replaced': 'key replaced by a new one',
  'key.revoked': 'key revoked',
} as const;

/** Writes the audit line of a key action, in the form of the service's log. */
export async function auditKey(audit: keyof typeof WORDS, key: ApiKeyRecord): Promise<void> {
  const { id, label, scopes, expiresAt, revokedAt } = key;
  const log = await openCommandLog();
  log.info({ audit, keyId: id, key: label, scopes, expiresAt, revokedAt }, WORDS[audit]);
}
