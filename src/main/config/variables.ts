import type { Storage, StorageKind } from '../../application/ports/storage-kind.ts';
import {
  commaSeparated,
  makeParser,
  integer,
  oneOf,
  parseDurationMs,
  parseRateLimit,
  RATE_LIMIT_FORM,
} from './forms.ts';
import { optional, Refused, row } from './rows.ts';
import {
  databaseUrlProblem,
  DEFAULT_DATABASE_URL,
  kindsWith,
  parseDatabaseUrl,
  STORAGES,
} from './storages.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const flag = (text: string) => oneOf(['true', 'false'], 'must be true or false')(text) === 'true';

const anyText = (text: string) => text;

const port = integer(0, 65_535);

const connections = integer(1, 1_000_000);

const rateLimit = makeParser(RATE_LIMIT_FORM, parseRateLimit);

const time = makeParser('must be a duration from 0s to 1h, such as 500ms, 25s or 2m', (text) => {
  const ms = parseDurationMs(text);
  return ms === undefined || ms > 3_600_000 ? undefined : ms;
});

/** Origins are compared as ASCII text, because browsers send them so: RFC 6454, section 6.2. */
const origins = makeParser(
  'must be comma-separated origins, each a scheme, a host and an optional port, without a slash at the end: https://shop.example',
  (text) => {
    const items = commaSeparated(text);
    const areOrigins = items.every((item) => /^https?:[^*]*$/.test(item) && URL.parse(item)?.origin === item);
    return areOrigins ? items : undefined;
  },
);

const publicUrl = makeParser(
  'must be an http or https URL without credentials, query, fragment or // in its path, such as https://petstore.example',
  (text) => {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
    const { origin, pathname, search, hash, username, password } = url;
    const path = pathname.replace(/\/+$/, '');
    // A Location begins with `path`, and // would name another host (RFC 3986, section 4.2).
    return search + hash + username + password !== '' || path.includes('//') ? undefined : origin + path;
  },
);

/** `label=key` or `key`. A key has the characters of a b64token: RFC 6750, section 2.1. */
const API_KEY_FORM = /^(?:([\w.-]{1,64})=)?([\w.~+/-]{16,}=*)$/;

function apiKeys(text: string) {
  const keys = commaSeparated(text).map((item, index) => {
    const [, label = `key-${index + 1}`, token] = API_KEY_FORM.exec(item) ?? [];
    if (token !== undefined) return { label, token };
    throw new Refused(
      'must be comma-separated keys of at least 16 characters from A-Z a-z 0-9 - . _ ~ + / =, each optionally as label=key',
    );
  });
  // The label of a key from `API_KEYS` is its id.
  if (new Set(keys.map(({ label }) => label)).size === keys.length) return keys;
  throw new Refused('must have a different label for each key');
}

/** Each property is a field of the configuration. */
export function variables(storages: readonly StorageKind[]) {
  const databaseUrl = (url: string): Storage => {
    const storage = parseDatabaseUrl(url, storages);
    if (storage === undefined) throw new Refused(databaseUrlProblem(url, storages));
    return storage;
  };
  const cautions = storages.flatMap(({ urlForm, caution }) => (caution ? `; ${urlForm} ${caution}` : []));
  // Only shared storages need AUTO_MIGRATE. Joining with `Intl` would load 4 MiB of ICU's data.
  const names = kindsWith('migrate', storages)
    .filter(({ shared }) => shared)
    .map(({ name }) => name)
    .join(' or ');
  return {
    host: row('HOST', anyText, '127.0.0.1', 'the address to listen on'),
    port: row('PORT', port, '3000', 'the port; 0: any free port, which the service logs'),
    storage: row(
      'DATABASE_URL',
      databaseUrl,
      DEFAULT_DATABASE_URL,
      `where the pets and the API keys are stored${cautions.join('')}`,
    ),
    autoMigrate: row('AUTO_MIGRATE', flag, 'false', `true: create or repair the ${names} schema at start`),
    apiKeys: optional('API_KEYS', apiKeys, 'further API keys, comma-separated: key or label=key'),
    /** Has no trailing slash. */
    publicUrl: optional('PUBLIC_URL', publicUrl, 'the base of URLs in answers; default: that of the request'),
    trustProxy: row('TRUST_PROXY', flag, 'false', 'true: trust the X-Forwarded-* headers of the proxy'),
    corsOrigins: optional('CORS_ORIGINS', origins, 'comma-separated origins whose pages may use the API'),
    /** `undefined`: keys without a limit of their own are unlimited. */
    rateLimit: optional('RATE_LIMIT', rateLimit, 'how many requests a key may send, such as 600/60s'),
    maxConnections: row('MAX_CONNECTIONS', connections, '10000', 'open connections; any more are closed'),
    metricsHost: row('METRICS_HOST', anyText, '127.0.0.1', 'the address for /metrics, which needs no key'),
    metricsPort: optional('METRICS_PORT', port, 'the port of /metrics for Prometheus; 0: any free port'),
    certFile: optional('TLS_CERT', anyText, 'the certificate and its chain in a PEM file, for HTTPS'),
    keyFile: optional('TLS_KEY', anyText, 'the private key of TLS_CERT in a PEM file, not encrypted'),
    logLevel: row('LOG_LEVEL', oneOf(LOG_LEVELS), 'info', LOG_LEVELS.join(', ')),
    shutdownDelayMs: row('SHUTDOWN_DELAY', time, '0s', 'how long a drain accepts requests; /readyz is 503'),
    shutdownTimeoutMs: row('SHUTDOWN_TIMEOUT', time, '25s', 'how long requests may take after that'),
  };
}

const ROWS = Object.values(variables(STORAGES));

export const VARIABLE_NAMES: readonly string[] = ROWS.map(({ name }) => name);

export function describeVariables(): string {
  return ROWS.map(({ name, help, initial = 'none' }) => {
    return `  ${name.padEnd(17)} ${initial.padEnd(26)} ${help}`;
  }).join('\n');
}
