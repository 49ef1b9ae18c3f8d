import * as v from 'valibot';
import { parseDuration } from './duration.ts';
import { parseRateLimit, RATE_LIMIT_FORM } from './rate-limit.ts';

/** What is wrong with the environment: a line for each variable, fit to be printed. */
export class InvalidConfig extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'InvalidConfig';
    this.problems = problems;
  }
}

/** Where the pets are when nothing else is said. */
export const DEFAULT_DATABASE_URL = 'sqlite:./data/petstore.db';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const PORT = 'must be an integer from 0 to 65535';
const PUBLIC_URL =
  'must be an http or https URL without credentials, query and fragment, such as https://petstore.example';
const DATABASE_URL = 'must be sqlite:PATH, mongodb://HOST/DATABASE or memory:';
const API_KEY =
  'must be comma-separated keys of at least 16 characters from A-Z a-z 0-9 - . _ ~ + / =, each optionally as label=key';
const LABELS = 'must have a different label for each key';
const CORS_ORIGINS =
  'must be comma-separated origins, each a scheme, a host and perhaps a port, such as https://shop.example';
const MAX_CONNECTIONS = 'must be an integer from 1 to 1000000';
const DURATION = 'must be a duration from 0s to 1h, such as 500ms, 25s or 2m';

const Flag = v.pipe(
  v.picklist(['true', 'false'], 'must be true or false'),
  v.transform((text) => text === 'true'),
);

const Port = v.pipe(
  v.string(),
  v.regex(/^(?:0|[1-9]\d{0,4})$/, PORT),
  v.transform(Number),
  v.maxValue(65_535, PORT),
);

const MAX_DURATION = 3_600_000;
const Duration = v.pipe(
  v.string(),
  v.transform(parseDuration),
  v.number(DURATION),
  v.maxValue(MAX_DURATION, DURATION),
);

const MaxConnections = v.pipe(
  v.string(),
  v.regex(/^[1-9]\d{0,6}$/, MAX_CONNECTIONS),
  v.transform(Number),
  v.maxValue(1_000_000, MAX_CONNECTIONS),
);

const RateLimit = v.pipe(
  v.string(),
  v.transform(parseRateLimit),
  v.custom<NonNullable<ReturnType<typeof parseRateLimit>>>((limit) => limit !== undefined, RATE_LIMIT_FORM),
);

/** Browsers send an origin in this form and no other, and it is compared as text: RFC 6454, section 6.2. */
const CorsOrigins = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((item) => item.trim())),
  v.array(
    v.pipe(
      v.string(),
      v.check((text) => /^https?:[^*]*$/.test(text) && URL.parse(text)?.origin === text, CORS_ORIGINS),
    ),
  ),
);

const PublicUrl = v.pipe(
  v.string(),
  v.check((text) => {
    const url = URL.parse(text);
    return (
      url !== null &&
      /^https?:$/.test(url.protocol) &&
      url.search === '' &&
      url.hash === '' &&
      url.username + url.password === ''
    );
  }, PUBLIC_URL),
  v.transform((text) => {
    const { origin, pathname } = new URL(text);
    return origin + pathname.replace(/\/+$/, '');
  }),
);

/** `label=key` or `key`; the key has only the characters of a b64token: RFC 6750, section 2.1. */
const API_KEY_FORM = /^(?:([\w.-]{1,64})=)?([\w.~+/-]{16,}=*)$/;
const ApiKeys = v.pipe(
  v.string(),
  v.transform((text) => text.split(',').map((item) => API_KEY_FORM.exec(item.trim()))),
  v.array(v.custom<RegExpExecArray>((match) => match !== null, API_KEY)),
  v.transform((matches) =>
    matches.map(([, label, token = ''], index) => ({ label: label ?? `key-${index + 1}`, token })),
  ),
  // The label is what tells them apart: see `knownKey`.
  v.check((keys) => new Set(keys.map(({ label }) => label)).size === keys.length, LABELS),
);

const VARIABLES = v.object({
  HOST: v.optional(v.string(), '127.0.0.1'),
  PORT: v.optional(Port, '3000'),
  DATABASE_URL: v.optional(
    v.pipe(v.string(), v.regex(/^(?:memory:$|sqlite:.|mongodb(?:\+srv)?:\/\/[^/?]+\/[^?])/, DATABASE_URL)),
    DEFAULT_DATABASE_URL,
  ),
  AUTO_MIGRATE: v.optional(Flag, 'false'),
  API_KEYS: v.optional(ApiKeys),
  PUBLIC_URL: v.optional(PublicUrl),
  TRUST_PROXY: v.optional(Flag, 'false'),
  CORS_ORIGINS: v.optional(CorsOrigins),
  RATE_LIMIT: v.optional(RateLimit),
  MAX_CONNECTIONS: v.optional(MaxConnections, '10000'),
  LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
  SHUTDOWN_TIMEOUT: v.optional(Duration, '25s'),
});

const HELP: Record<keyof typeof VARIABLES.entries, string> = {
  HOST: 'the address to listen on',
  PORT: 'the port to listen on; 0 takes a free one, and the start-up line says which',
  DATABASE_URL: 'where the pets are: sqlite:PATH, mongodb://HOST/DATABASE, or memory: (gone at exit)',
  AUTO_MIGRATE: 'true: bring an empty or older MongoDB schema up to date at start',
  API_KEYS:
    'further keys for small set-ups, of at least 16 characters: comma-separated, each optionally as label=key',
  PUBLIC_URL:
    'the base of absolute URLs in answers; without it they are built from the request, or what a trusted proxy says of it',
  TRUST_PROXY: 'true: believe X-Forwarded-Proto and X-Forwarded-Host, which a proxy in front must overwrite',
  CORS_ORIGINS: 'comma-separated origins whose pages may use the API in a browser',
  RATE_LIMIT: 'how many requests a key may send, such as 600/60s; a key can have a limit of its own',
  MAX_CONNECTIONS: 'how many connections there may be at once; the service closes what comes beyond',
  LOG_LEVEL: LOG_LEVELS.join(', '),
  SHUTDOWN_TIMEOUT: 'how long requests in flight may take at shutdown: 500ms, 25s, 2m',
};

export type Config = v.InferOutput<typeof VARIABLES>;

/**
 * Reads the variables of the service. An empty one counts as absent.
 *
 * @throws {InvalidConfig} naming every variable that is wrong and what it may be; never its value, which may be
 * a secret
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const { success, output, issues } = v.safeParse(VARIABLES, Object.fromEntries(given));
  if (success) return output;
  const problems = issues.map(({ path, message }) => `${String(path?.[0].key)} ${message}`);
  throw new InvalidConfig([...new Set(problems)]);
}

/** A line for each variable with its default. */
export function describeVariables(): string {
  const lines = Object.entries(VARIABLES.entries).map(([name, schema]) => {
    const initial = schema.default ?? 'none';
    return `  ${name.padEnd(17)} ${initial.padEnd(26)} ${HELP[name as keyof typeof HELP]}`;
  });
  return lines.join('\n');
}
