import { isIP } from 'node:net';
import * as v from 'valibot';
import { SERVER_LIMITS } from '../../adapters/http/server/limits.ts';
import type { StorageKind } from '../../application/ports/storage-kind.ts';
import {
  databaseUrlProblem,
  DEFAULT_DATABASE_URL,
  kindsWith,
  namesOf,
  parseDatabaseUrl,
  STORAGES,
} from './storages.ts';
import { parseDurationMs, parseRateLimit, RATE_LIMIT_FORM } from './forms.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const PUBLIC_URL =
  'must be an http or https URL without credentials, query, fragment or // in its path, such as https://petstore.example';
const API_KEY =
  'must be comma-separated keys of at least 16 characters from A-Z a-z 0-9 - . _ ~ + / =, each optionally as label=key';
const LABELS = 'must have a different label for each key';
const CORS_ORIGINS =
  'must be comma-separated origins, each a scheme, a host and an optional port, without a slash at the end: https://shop.example';
const TLS_PAIR = 'and TLS_KEY must be set together';
const DURATION = 'must be a duration from 0s to 1h, such as 500ms, 25s or 2m';

const Flag = v.pipe(
  v.picklist(['true', 'false'], 'must be true or false'),
  v.transform((text) => text === 'true'),
);

/** An integer of at most ten digits. */
export function integer(min: number, max: number) {
  const rule = `must be an integer from ${min} to ${max}`;
  return v.pipe(
    v.string(),
    v.regex(/^(?:0|[1-9]\d{0,9})$/, rule),
    v.transform(Number),
    v.minValue(min, rule),
    v.maxValue(max, rule),
  );
}

const Port = integer(0, 65_535);

/** What `parse` makes of a text: `undefined` when the text breaks the rule. */
function parsed<T>(parse: (text: string) => T | undefined, rule: string) {
  return v.pipe(
    v.string(),
    v.transform(parse),
    v.custom<T>((value) => value !== undefined, rule),
  );
}

export const CommaSeparated = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((item) => item.trim())),
);

const DurationMs = v.pipe(parsed(parseDurationMs, DURATION), v.maxValue(3_600_000, DURATION));

/** Browsers send an origin in its ASCII serialization (RFC 6454, section 6.2), which is compared as text. */
const CorsOrigins = v.pipe(
  CommaSeparated,
  v.everyItem((text) => /^https?:[^*]*$/.test(text) && URL.parse(text)?.origin === text, CORS_ORIGINS),
);

function parsePublicUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  const { origin, pathname, search, hash, username, password } = url;
  const path = pathname.replace(/\/+$/, '');
  // A Location that begins with // would name another host: RFC 3986, section 4.2.
  return search + hash + username + password !== '' || path.includes('//') ? undefined : origin + path;
}

/** `label=key` or `key`; the key has only the characters of a b64token: RFC 6750, section 2.1. */
const API_KEY_FORM = /^(?:([\w.-]{1,64})=)?([\w.~+/-]{16,}=*)$/;
const ApiKeys = v.pipe(
  CommaSeparated,
  v.everyItem((item) => API_KEY_FORM.test(item), API_KEY),
  v.mapItems((item, index) => {
    const [, label = `key-${index + 1}`, token = ''] = API_KEY_FORM.exec(item) ?? [];
    return { label, token };
  }),
  // The label of such a key is its id.
  v.check((keys) => new Set(keys.map(({ label }) => label)).size === keys.length, LABELS),
);

type Addresses = Readonly<Record<'HOST' | 'METRICS_HOST', string>> & {
  readonly PORT: number;
  readonly METRICS_PORT?: number;
};

function arePortsApart({ HOST, METRICS_HOST, PORT, METRICS_PORT }: Addresses): boolean {
  const isEvery = [HOST, METRICS_HOST].some((host) => isIP(host) === 0 || /^[0:.]+$/.test(host));
  return PORT === 0 || PORT !== METRICS_PORT || (HOST !== METRICS_HOST && !isEvery);
}

const ADDRESSES = [['HOST'], ['PORT'], ['METRICS_HOST'], ['METRICS_PORT']] as const;

function isTlsPair(given: { readonly TLS_CERT?: string; readonly TLS_KEY?: string }): boolean {
  return (given.TLS_CERT === undefined) === (given.TLS_KEY === undefined);
}

/** A line for each invalid variable, with its rule. A value may be a secret, so no line has one. */
export function problemLines(issues: readonly v.BaseIssue<unknown>[] = []): readonly string[] {
  return [...new Set(issues.map(({ path, message }) => `${String(path?.[0].key)} ${message}`))];
}

/** The variables of the service. */
export function variables(storages: readonly StorageKind[]) {
  const DatabaseUrl = v.pipe(
    v.string(),
    v.rawTransform(({ dataset: { value: url }, addIssue, NEVER }) => {
      const storage = parseDatabaseUrl(url, storages);
      if (storage !== undefined) return storage;
      addIssue({ message: databaseUrlProblem(url, storages) });
      return NEVER;
    }),
  );
  const each = v.object({
    HOST: v.optional(v.string(), '127.0.0.1'),
    PORT: v.optional(Port, '3000'),
    DATABASE_URL: v.optional(DatabaseUrl, DEFAULT_DATABASE_URL),
    AUTO_MIGRATE: v.optional(Flag, 'false'),
    API_KEYS: v.optional(ApiKeys),
    PUBLIC_URL: v.optional(parsed(parsePublicUrl, PUBLIC_URL)),
    TRUST_PROXY: v.optional(Flag, 'false'),
    CORS_ORIGINS: v.optional(CorsOrigins),
    RATE_LIMIT: v.optional(parsed(parseRateLimit, RATE_LIMIT_FORM)),
    MAX_CONNECTIONS: v.optional(integer(1, 1_000_000), String(SERVER_LIMITS.maxConnections)),
    METRICS_HOST: v.optional(v.string(), '127.0.0.1'),
    METRICS_PORT: v.optional(Port),
    TLS_CERT: v.optional(v.string()),
    TLS_KEY: v.optional(v.string()),
    LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
    SHUTDOWN_DELAY: v.optional(DurationMs, '0s'),
    SHUTDOWN_TIMEOUT: v.optional(DurationMs, '25s'),
  });
  // A partial check runs even if other variables are invalid.
  return v.pipe(
    each,
    v.forward(v.partialCheck([['TLS_CERT'], ['TLS_KEY']], isTlsPair, TLS_PAIR), ['TLS_CERT']),
    v.forward(v.partialCheck(ADDRESSES, arePortsApart, 'must differ from PORT'), ['METRICS_PORT']),
  );
}

export type Variables = v.InferOutput<ReturnType<typeof variables>>;

const CAUTIONS = STORAGES.flatMap(({ urlForm, caution }) => (caution ? [`${urlForm} ${caution}`] : []));

const HELP = {
  HOST: 'the address to listen on',
  PORT: 'the port to listen on; 0 takes a free one, and the start-up line says which',
  DATABASE_URL: ['where the pets and the API keys are stored', ...CAUTIONS].join('; '),
  // On use only: a list of names takes 4 MiB of ICU's data, which a service does not need.
  get AUTO_MIGRATE() {
    return `true: create or repair the ${namesOf(kindsWith('migrate'))} schema at start`;
  },
  API_KEYS: 'more API keys, of at least 16 characters: comma-separated, each optionally as label=key',
  PUBLIC_URL: 'the base of absolute URLs in answers; by default taken from the request or a trusted proxy',
  TRUST_PROXY:
    'true: believe the last value of X-Forwarded-Proto, -Host and -For, which the proxy in front must set',
  CORS_ORIGINS: 'comma-separated origins whose pages may use the API in a browser',
  RATE_LIMIT: 'how many requests a key may send, such as 600/60s; a key can have its own limit',
  MAX_CONNECTIONS: 'how many connections may be open at once; the service closes further ones',
  METRICS_HOST: 'the address for /metrics, which needs no key',
  METRICS_PORT: 'the port for /metrics, for Prometheus; 0 takes a free one, and the log says which',
  TLS_CERT:
    'a PEM file with the certificate and its chain: the service then speaks HTTPS; read again on SIGHUP',
  TLS_KEY: 'a PEM file with the private key of TLS_CERT, not encrypted',
  LOG_LEVEL: LOG_LEVELS.join(', '),
  SHUTDOWN_DELAY: 'how long the service still accepts requests at shutdown, while /readyz answers 503',
  SHUTDOWN_TIMEOUT: 'how long requests in flight may take at shutdown: 500ms, 25s, 2m',
} satisfies Record<keyof Variables, string>;

export const VARIABLE_NAMES: readonly string[] = Object.keys(HELP);

/** A line for each variable with its default. */
export function describeVariables(): string {
  const lines = Object.entries(variables(STORAGES).entries).map(([name, schema]) => {
    return `  ${name.padEnd(17)} ${(schema.default ?? 'none').padEnd(26)} ${HELP[name as keyof typeof HELP]}`;
  });
  return lines.join('\n');
}
