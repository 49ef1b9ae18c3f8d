import { describe, expect, it } from 'vitest';
import { StartError, readConfig } from '../../../src/main/config/config.ts';
import { describeVariables } from '../../../src/main/config/variables.ts';

const DEFAULTS = {
  host: '127.0.0.1',
  port: 3000,
  persistent: true,
  autoMigrate: false,
  apiKeys: undefined,
  publicUrl: undefined,
  trustProxy: false,
  corsOrigins: [],
  rateLimit: undefined,
  maxConnections: 10_000,
  metricsHost: '127.0.0.1',
  metricsPort: undefined,
  tls: undefined,
  logLevel: 'info',
  shutdownDelayMs: 0,
  shutdownTimeoutMs: 25_000,
  tracing: undefined,
  warnings: [],
};

const KEY = '0123456789abcdef';

const RULES = {
  PORT: 'must be an integer from 0 to 65535',
  DATABASE_URL: 'must be sqlite:PATH, mongodb://HOST/DATABASE or memory:',
  AUTO_MIGRATE: 'must be true or false',
  API_KEYS:
    'must be comma-separated keys of at least 16 characters from A-Z a-z 0-9 - . _ ~ + / =, each optionally as label=key',
  PUBLIC_URL:
    'must be an http or https URL without credentials, query, fragment or // in its path, such as https://petstore.example',
  TRUST_PROXY: 'must be true or false',
  CORS_ORIGINS:
    'must be comma-separated origins, each a scheme, a host and an optional port, without a slash at the end: https://shop.example',
  RATE_LIMIT:
    'must be requests/time, such as 600/60s or 10000/1h: 1 to 1000000000 requests in whole seconds, minutes or hours up to 24h',
  MAX_CONNECTIONS: 'must be an integer from 1 to 1000000',
  METRICS_PORT: 'must be an integer from 0 to 65535',
  LOG_LEVEL: 'must be one of trace, debug, info, warn, error, fatal, silent',
  SHUTDOWN_DELAY: 'must be a duration from 0s to 1h, such as 500ms, 25s or 2m',
  SHUTDOWN_TIMEOUT: 'must be a duration from 0s to 1h, such as 500ms, 25s or 2m',
};

/**
 * Reads the configuration. `persistent` replaces the storage, because the functions of a storage cannot be compared.
 */
function readComparable(environment: Record<string, string | undefined>) {
  const { storage, ...settings } = readConfig(environment);
  return { ...settings, persistent: storage.kind.persistent };
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof StartError) return error.problems;
    throw error;
  }
  return [];
}

describe('the configuration', () => {
  it('has the default values when no variable is set', () => {
    expect(readComparable({})).toStrictEqual(DEFAULTS);
  });

  it('treats an empty variable as absent, and ignores variables of other programs', () => {
    const empty = Object.fromEntries(
      [...Object.keys(RULES), 'HOST', 'METRICS_HOST'].map((name) => [name, '']),
    );
    expect(readComparable({ ...empty, HOME: '/root', PATH: undefined })).toStrictEqual(DEFAULTS);
  });

  it.each<[environment: Record<string, string>, fields: object]>([
    [{ HOST: '::1' }, { host: '::1' }],
    [{ PORT: '0' }, { port: 0 }],
    [{ PORT: '65535' }, { port: 65_535 }],
    [{ DATABASE_URL: 'memory:' }, { persistent: false }],
    [{ DATABASE_URL: 'sqlite:/var/lib/pets.db' }, { persistent: true }],
    [{ DATABASE_URL: 'mongodb://localhost/petstore' }, { persistent: true }],
    [{ AUTO_MIGRATE: 'true' }, { autoMigrate: true }],
    [{ PUBLIC_URL: 'http://petstore.example:8080/' }, { publicUrl: 'http://petstore.example:8080' }],
    [{ PUBLIC_URL: 'https://petstore.example/api//' }, { publicUrl: 'https://petstore.example/api' }],
    [{ PUBLIC_URL: 'HTTPS://Petstore.Example/Api' }, { publicUrl: 'https://petstore.example/Api' }],
    [{ PUBLIC_URL: 'https://petstore.example/?' }, { publicUrl: 'https://petstore.example' }],
    [{ PUBLIC_URL: 'https://petstore.example/>' }, { publicUrl: 'https://petstore.example/%3E' }],
    [{ TRUST_PROXY: 'true' }, { trustProxy: true }],
    [
      { CORS_ORIGINS: 'http://localhost:5173, https://a.b' },
      { corsOrigins: ['http://localhost:5173', 'https://a.b'] },
    ],
    [{ CORS_ORIGINS: 'http://[::1]:8080' }, { corsOrigins: ['http://[::1]:8080'] }],
    [{ RATE_LIMIT: '1/1s' }, { rateLimit: { requests: 1, seconds: 1 } }],
    [{ RATE_LIMIT: '1000000000/24h' }, { rateLimit: { requests: 1_000_000_000, seconds: 86_400 } }],
    [{ MAX_CONNECTIONS: '1' }, { maxConnections: 1 }],
    [{ MAX_CONNECTIONS: '1000000' }, { maxConnections: 1_000_000 }],
    [{ METRICS_HOST: '0.0.0.0' }, { metricsHost: '0.0.0.0' }],
    [{ METRICS_PORT: '0' }, { metricsPort: 0 }],
    [{ LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
    [{ SHUTDOWN_DELAY: '10s' }, { shutdownDelayMs: 10_000 }],
    [{ SHUTDOWN_TIMEOUT: '0s' }, { shutdownTimeoutMs: 0 }],
    [{ SHUTDOWN_TIMEOUT: '1h' }, { shutdownTimeoutMs: 3_600_000 }],
    [{ TLS_CERT: 'cert.pem', TLS_KEY: 'key.pem' }, { tls: { certFile: 'cert.pem', keyFile: 'key.pem' } }],
  ])('accepts %j', (environment, fields) => {
    expect(readComparable(environment)).toStrictEqual({ ...DEFAULTS, ...fields });
  });

  it('refuses TLS_CERT without TLS_KEY, and TLS_KEY without TLS_CERT', () => {
    const problem = 'TLS_CERT and TLS_KEY must be set together';
    expect(problemsOf({ TLS_CERT: 'cert.pem' })).toStrictEqual([problem]);
    expect(problemsOf({ TLS_KEY: 'key.pem', TLS_CERT: '' })).toStrictEqual([problem]);
    expect(problemsOf({ TLS_KEY: 'key.pem', PORT: 'http' })).toStrictEqual([`PORT ${RULES.PORT}`, problem]);
  });

  it.each([
    ['a key with a label', `ci.bot-2=${KEY}`, [{ label: 'ci.bot-2', token: KEY }]],
    [
      'several keys with white space between them',
      `a=${KEY} , ${KEY}X,\n b=${KEY}Y`,
      [
        { label: 'a', token: KEY },
        { label: 'key-2', token: `${KEY}X` },
        { label: 'b', token: `${KEY}Y` },
      ],
    ],
    ['a key of all kinds of characters', 'AZaz09-._~+/AZaz', [{ label: 'key-1', token: 'AZaz09-._~+/AZaz' }]],
    ['a key with a label and with padding', `ci=${KEY}=`, [{ label: 'ci', token: `${KEY}=` }]],
  ])('accepts API_KEYS with %s', (_what, text, keys) => {
    expect(readConfig({ API_KEYS: text }).apiKeys).toStrictEqual(keys);
  });

  it('requires a different label for each key in API_KEYS, because the label is the id', () => {
    const problem = 'API_KEYS must have a different label for each key';
    expect(problemsOf({ API_KEYS: `a=${KEY},a=${KEY}X` })).toStrictEqual([problem]);
    expect(problemsOf({ API_KEYS: `${KEY},key-1=${KEY}X` })).toStrictEqual([problem]);
  });

  const INVALID_VALUES = {
    PORT: ['x', '-1', '1.0', '080', '65536', '100000', ' 80', '80\n'],
    DATABASE_URL: [
      'memory',
      'memory:x',
      'me:secret@host/x.db',
      'postgres://h/x.db',
      'redis://localhost/0',
      'sqlite:',
      ' mongodb://localhost/petstore',
    ],
    AUTO_MIGRATE: ['TRUE', 'yes', ' true', 'constructor'],
    API_KEYS: [
      'fifteen-letters',
      'key with a blank in it',
      `${KEY},,${KEY}`,
      `=${KEY}`,
      `${'l'.repeat(65)}=${KEY}`,
      `a=b=${KEY}`,
      '================',
    ],
    PUBLIC_URL: [
      'petstore.example',
      'https://petstore.example/?a=b',
      'https://petstore.example/#top',
      'https://user@petstore.example',
      'https://:hunter2@petstore.example',
      'https://petstore.example/a//b/',
      'https://petstore.example/..//evil.example',
    ],
    TRUST_PROXY: ['TRUE', '10.0.0.0/8'],
    CORS_ORIGINS: [
      '*',
      'https://shop.example/',
      'https://shop.example:443',
      'https://*.shop.example',
      'https://shop.example,',
      'ftp://shop.example',
    ],
    RATE_LIMIT: ['600/60', '0/60s', '600/0s', '600/25h', '600/500ms', '1000000001/1s'],
    MAX_CONNECTIONS: ['0', '1000001'],
    METRICS_PORT: ['on', '65536'],
    LOG_LEVEL: ['Info', 'none'],
    SHUTDOWN_DELAY: ['25', '3600001ms'],
    SHUTDOWN_TIMEOUT: ['25', '3600001ms'],
  } satisfies Record<keyof typeof RULES, readonly string[]>;
  it.each(
    Object.entries(INVALID_VALUES).flatMap(([name, texts]) => texts.map((text) => [name, text] as const)),
  )('refuses %s=%j with a line that names the allowed values', (name, text) => {
    expect(problemsOf({ [name]: text })).toStrictEqual([`${name} ${RULES[name as keyof typeof RULES]}`]);
  });

  it.each([
    ['./data/x.db', './data/x.db'],
    ['../x', '../x'],
    ['/var/lib/my pets/x', '/var/lib/my pets/x'],
    ['x.SQLITE', 'x.SQLITE'],
    ['data/x.sqlite3', 'data/x.sqlite3'],
    ['file:./x.db', './x.db'],
    ['file:///var/x.db', '/var/x.db'],
    ['sqlite3:x.db', 'x.db'],
  ])('suggests a sqlite: URL when DATABASE_URL is the path of a file: %s', (DATABASE_URL, path) => {
    expect(problemsOf({ DATABASE_URL })).toStrictEqual([
      `DATABASE_URL is a path; did you mean sqlite:${path}?`,
    ]);
  });

  it('reports what is wrong with a URL of MongoDB, and repeats no part of the URL', () => {
    const [problem = '', ...furtherProblems] = problemsOf({ DATABASE_URL: 'mongodb://me:hunter@2@host/d' });
    expect([problem, furtherProblems]).toStrictEqual([
      expect.stringMatching(/^DATABASE_URL must have its user and pass/),
      [],
    ]);
    expect(problem).not.toMatch(/hunter|me:/);
  });

  it('reports all invalid variables together, each on its own line, and repeats no value, because a value may be a secret', () => {
    const secret = 'hunter2';
    const invalidVariables = {
      ...Object.fromEntries(Object.keys(RULES).map((name) => [name, secret])),
      HOST: `${secret}.example`,
      DATABASE_URL: `postgres://me:${secret}@localhost/db`,
      API_KEYS: `${secret}=${secret}`,
      PUBLIC_URL: `https://${secret}@petstore.example`,
    };
    const lines = Object.entries(RULES).map(([name, rule]) => `${name} ${rule}`);
    expect(problemsOf(invalidVariables)).toStrictEqual(lines);
    expect(() => readConfig(invalidVariables)).toThrow(lines.join('\n'));
  });

  it.each(['1', '4', 'auto'])(
    'refuses WORKERS=%s, because this variable was removed, and describes its replacement',
    (WORKERS) => {
      const replacement = 'start several services, each with a PORT of its own, behind a proxy';
      expect(problemsOf({ WORKERS })).toStrictEqual([`WORKERS was removed: ${replacement}`]);
      expect(problemsOf({ WORKERS, PORT: 'http' })).toHaveLength(2);
      expect(problemsOf({ WORKERS: '' })).toStrictEqual([]);
    },
  );
});

it('the description of the variables has one line of at most 120 characters for each variable, with its default and its meaning', () => {
  const lines = describeVariables().split('\n');
  const names = lines.map((line) => /^ {2}(\w+) +\S+ +(?=\S).{1,74}$/.exec(line)?.[1]);
  const allNames = [...Object.keys(RULES), 'HOST', 'METRICS_HOST', 'TLS_CERT', 'TLS_KEY'];
  expect(new Set(names)).toStrictEqual(new Set(allNames));
});
