import { DamagedApiKey } from '../../application/ports/storage-errors.ts';
import { type ApiKey, apiKeyState } from '../../domain/api-key.ts';

type KeyProperty = string | readonly string[] | Date | null;

/** Has every property except the digest. In JSON, times become RFC 3339. */
export function keyJson(key: ApiKey | DamagedApiKey, now: Date): Record<string, KeyProperty> {
  if (key instanceof DamagedApiKey) return { id: key.id, state: 'damaged' };
  const { id, label, scopes, rateLimit, createdAt, expiresAt, revokedAt, lastUsedAt, originId } = key;
  return {
    id,
    label,
    state: apiKeyState(key, now),
    scopes,
    rateLimit: rateLimit ? `${rateLimit.requests}/${rateLimit.seconds}s` : null,
    createdAt,
    expiresAt: expiresAt ?? null,
    revokedAt: revokedAt ?? null,
    lastUsedAt: lastUsedAt ?? null,
    originId: originId ?? null,
  } satisfies Record<Exclude<keyof ApiKey, 'digest'>, KeyProperty> & { readonly state: string };
}

const COLUMNS = {
  ID: 'id',
  STATE: 'state',
  SCOPES: 'scopes',
  CREATED: 'createdAt',
  EXPIRES: 'expiresAt',
  'LAST USED': 'lastUsedAt',
  // This column is last, because the width of a label depends on the terminal.
  LABEL: 'label',
} as const;

export function keyTable(keys: readonly (ApiKey | DamagedApiKey)[], now: Date): string {
  const rows = keys.map((key) => {
    const json = keyJson(key, now);
    return Object.values(COLUMNS).map((name) => cell(json[name]));
  });
  const table = [Object.keys(COLUMNS), ...rows];
  const widths = Object.keys(COLUMNS).map((_, at) => Math.max(...table.map((row) => row[at]!.length)));
  const lines = table.map((row) => row.map((text, at) => text.padEnd(widths[at]!)).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Cuts a time after the minute. A damaged key has no values. */
function cell(value: KeyProperty = ''): string {
  if (value instanceof Date) return `${value.toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)}Z`;
  return String(value ?? 'never');
}

export function keyLines(key: ApiKey, now: Date): string {
  return Object.entries(keyJson(key, now))
    .map(([name, value]) => `${`${name}:`.padEnd(12)}${propertyText(value)}\n`)
    .join('');
}

function propertyText(value: KeyProperty): string {
  return value instanceof Date ? value.toISOString() : String(value ?? 'none');
}
