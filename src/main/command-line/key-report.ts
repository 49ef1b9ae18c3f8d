import { DamagedApiKey } from '../../application/ports/storage-errors.ts';
import { type ApiKey, apiKeyState } from '../../domain/api-key.ts';
import { rateLimitText } from '../config/forms.ts';

type KeyProperty = string | readonly string[] | Date | null;

/** A key for programs: every property except the digest. Times become RFC 3339 in JSON. */
export function keyJson(key: ApiKey | DamagedApiKey, now: Date): Record<string, KeyProperty> {
  if (key instanceof DamagedApiKey) return { id: key.id, state: 'damaged' };
  const { id, label, scopes, rateLimit, createdAt, expiresAt, revokedAt, lastUsedAt, originId } = key;
  return {
    id,
    label,
    state: apiKeyState(key, now),
    scopes,
    rateLimit: rateLimit === undefined ? null : rateLimitText(rateLimit),
    createdAt,
    expiresAt: expiresAt ?? null,
    revokedAt: revokedAt ?? null,
    lastUsedAt: lastUsedAt ?? null,
    originId: originId ?? null,
  } satisfies Record<Exclude<keyof ApiKey, 'digest'>, KeyProperty> & { readonly state: string };
}

const COLUMNS = ['ID', 'STATE', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED', 'LABEL'] as const;

/** Keys for people, one per line. The label comes last, because its width on a terminal is unknown. */
export function keyTable(keys: readonly (ApiKey | DamagedApiKey)[], now: Date): string {
  const rows = keys.map((key) =>
    key instanceof DamagedApiKey
      ? [key.id, 'damaged']
      : [
          key.id,
          apiKeyState(key, now),
          key.scopes.join(','),
          minute(key.createdAt),
          key.expiresAt === undefined ? 'never' : minute(key.expiresAt),
          key.lastUsedAt === undefined ? 'never' : minute(key.lastUsedAt),
          key.label,
        ],
  );
  const table = [COLUMNS, ...rows];
  const widths = COLUMNS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  return table
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** A key for people, one property per line. */
export function keyLines(key: ApiKey, now: Date): string {
  return Object.entries(keyJson(key, now))
    .map(([name, value]) => `${`${name}:`.padEnd(12)}${propertyText(value)}\n`)
    .join('');
}

function propertyText(value: KeyProperty): string {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : (value?.join(',') ?? 'none');
}

function minute(time: Date): string {
  return `${time.toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)}Z`;
}
