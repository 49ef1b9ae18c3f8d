import { isIPv4 } from 'node:net';
import * as v from 'valibot';

/** What is wrong with the environment: a line for each variable, fit to be printed. */
export class InvalidConfig extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'InvalidConfig';
    this.problems = problems;
  }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

const PORT = 'must be an integer from 0 to 65535';
const PUBLIC_URL =
  'must be an http or https URL without credentials, query and fragment, such as https://petstore.example';
const DATABASE_URL = 'must be sqlite:PATH, mongodb://HOST/DATABASE or memory:';
const API_KEY =
  'must be comma-separated keys of at least 16 characters from A-Z a-z 0-9 - . _ ~ + / =, each optionally as label=key';
const NO_KEYS = 'must be set when HOST is not a loopback address, because others can reach the service then';
const DURATION =
  'must be a number of milliseconds, seconds or minutes from 0 to 1 hour, such as 500ms, 25s or 2m';

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

const UNITS = { ms: 1, s: 1000, m: 60_000 } as const;
const Duration = v.pipe(
  v.string(),
  v.regex(/^(?:0|[1-9]\d{0,6})(?:ms|s|m)$/, DURATION),
  v.transform((text) => Number.parseInt(text, 10) * UNITS[/\D+$/.exec(text)![0] as keyof typeof UNITS]),
  v.maxValue(3_600_000, DURATION),
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
    matches.map(([, label, key = ''], index) => ({ label: label ?? `key-${index + 1}`, key })),
  ),
);

const VARIABLES = v.object({
  HOST: v.optional(v.string(), '127.0.0.1'),
  PORT: v.optional(Port, '3000'),
  DATABASE_URL: v.optional(
    v.pipe(v.string(), v.regex(/^(?:memory:$|sqlite:.|mongodb(?:\+srv)?:\/\/[^/?]+\/[^?])/, DATABASE_URL)),
    'sqlite:./data/petstore.db',
  ),
  AUTO_MIGRATE: v.optional(Flag, 'false'),
  API_KEYS: v.optional(ApiKeys),
  PUBLIC_URL: v.optional(PublicUrl),
  LOG_LEVEL: v.optional(v.picklist(LOG_LEVELS, `must be one of ${LOG_LEVELS.join(', ')}`), 'info'),
  SHUTDOWN_TIMEOUT: v.optional(Duration, '25s'),
});

const CONFIG = v.pipe(
  VARIABLES,
  v.forward(
    v.partialCheck(
      [['HOST'], ['API_KEYS']],
      ({ HOST, API_KEYS }) => API_KEYS !== undefined || isLoopback(HOST),
      NO_KEYS,
    ),
    ['API_KEYS'],
  ),
);

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

const HELP: Record<keyof typeof VARIABLES.entries, string> = {
  HOST: 'the address to listen on',
  PORT: 'the port to listen on; 0 takes a free one, and the start-up line says which',
  DATABASE_URL: 'where the pets are: sqlite:PATH, mongodb://HOST/DATABASE, or memory: (gone at exit)',
  AUTO_MIGRATE: 'true: bring an empty or older MongoDB schema up to date at start',
  API_KEYS: 'comma-separated API keys of at least 16 characters, each optionally as label=key',
  PUBLIC_URL: 'the base of absolute URLs in answers; without it they are built from the request',
  LOG_LEVEL: LOG_LEVELS.join(', '),
  SHUTDOWN_TIMEOUT: 'how long requests in flight may take at shutdown: 500ms, 25s, 2m',
};

export type Config = v.InferOutput<typeof CONFIG>;

/**
 * Reads the variables of the service. An empty one counts as absent.
 *
 * @throws {InvalidConfig} naming every variable that is wrong and what it may be; never its value, which may be
 * a secret
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.entries(environment).filter(([, value]) => value !== undefined && value !== '');
  const { success, output, issues } = v.safeParse(CONFIG, Object.fromEntries(given));
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
