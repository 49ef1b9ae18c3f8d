import { DamagedApiKey } from '../../application/ports/storage-errors.ts';
import { parseStoredApiKey } from '../../application/keys/stored-keys.ts';
import type { ApiKey } from '../../domain/api-key.ts';
import { apiKeyChecksum, blobToHash, hashToBlob, isChecksum } from './checksum.ts';

export const KEY_COLUMNS =
  'id, digest, label, scopes, created_at, expires_at, requests, seconds, revoked_at, last_used_at, origin_id, checksum';

/** A damaged file may hold anything in every column. A space separates two scopes. */
export type ApiKeyRow = Readonly<Record<keyof ReturnType<typeof toColumns>, unknown>>;

export function toColumns(key: ApiKey) {
  const { createdAt, expiresAt, rateLimit, revokedAt, lastUsedAt } = key;
  // The checksum covers the columns in this order. A new column comes last.
  const columns = {
    id: key.id,
    digest: key.digest,
    label: key.label,
    scopes: key.scopes.join(' '),
    created_at: toInteger(createdAt),
    expires_at: expiresAt === undefined ? null : toInteger(expiresAt),
    requests: rateLimit?.requests ?? null,
    seconds: rateLimit?.seconds ?? null,
    revoked_at: revokedAt === undefined ? null : toInteger(revokedAt),
    last_used_at: lastUsedAt === undefined ? null : toInteger(lastUsedAt),
    origin_id: key.originId ?? null,
  };
  return { ...columns, digest: hashToBlob(key.digest), checksum: apiKeyChecksum(Object.values(columns)) };
}

/** @throws {RangeError} for an invalid date. SQLite would store NaN as NULL, which means never */
function toInteger(time: Date): bigint {
  return BigInt(time.getTime());
}

export function toKey(row: ApiKeyRow): ApiKey | DamagedApiKey {
  const { id, digest, label, scopes, requests, seconds } = row;
  const key = parseStoredApiKey({
    id,
    digest: blobToHash(digest),
    label,
    scopes: typeof scopes === 'string' ? scopes.split(' ') : scopes,
    createdAt: toDate(row.created_at),
    expiresAt: toDate(row.expires_at),
    rateLimit:
      requests === null && seconds === null
        ? undefined
        : { requests: toNumber(requests), seconds: toNumber(seconds) },
    revokedAt: toDate(row.revoked_at),
    lastUsedAt: toDate(row.last_used_at),
    originId: row.origin_id ?? undefined,
  } satisfies Record<keyof ApiKey, unknown>);
  if (key instanceof DamagedApiKey || isChecksum(row.checksum, toColumns(key).checksum)) return key;
  return new DamagedApiKey(key.id, 'its fields must match its checksum');
}

// In a damaged file, a value may be no integer. Such a value stays unchanged, and `parseStoredApiKey` refuses it.

function toDate(ms: unknown): unknown {
  if (ms === null) return undefined;
  return typeof ms === 'bigint' ? new Date(Number(ms)) : ms;
}

function toNumber(integer: unknown): unknown {
  return typeof integer === 'bigint' ? Number(integer) : integer;
}
