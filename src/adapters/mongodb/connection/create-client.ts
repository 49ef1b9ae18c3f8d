import { MongoClient, type MongoClientOptions } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { CERTIFICATE_OPTIONS } from './certificates.ts';

/**
 * The connection string may override these options, but not `REQUIRED_VALUES`. With the driver's defaults, an
 * unresponsive primary could block a request for 40 s.
 */
const DEFAULT_OPTIONS = {
  appName: 'petstore',
  maxPoolSize: 50,
  waitQueueTimeoutMS: 2_000,
  /** The longest wait for a primary at a start. Must exceed `CALL_TIMEOUT_MS`. */
  serverSelectionTimeoutMS: 25_000,
  connectTimeoutMS: 2_000,
  /** The longest time until the end of an outage is noticed. */
  heartbeatFrequencyMS: 500,
  socketTimeoutMS: 8_000,
  retryReads: true,
  retryWrites: true,
  w: 'majority',
  journal: true,
  wtimeoutMS: 5_000,
  readConcernLevel: 'majority',
} as const;

/**
 * @param overrides other defaults, which the connection string may also override
 * @throws {StorageSetupError} for an unusable connection string; the message never quotes credentials
 */
export function createClient(url: string, overrides: MongoClientOptions = {}): MongoClient {
  const options = optionsIn(url);
  refuseWeakerGuarantees(options);
  const isInUrl = (option: string) => options.some(([name]) => name === option.toLowerCase());
  const defaults = Object.entries({ ...DEFAULT_OPTIONS, ...overrides }).filter(([name]) => !isInUrl(name));
  const certificates = CERTIFICATE_OPTIONS.flatMap(([file, tlsNames]) => (isInUrl(file) ? tlsNames : []));
  try {
    return new MongoClient(url, {
      ...Object.fromEntries(defaults),
      // `readCertificates` fills these arrays.
      ...Object.fromEntries(certificates.map((name) => [name, []])),
      // No connection string can change the next two options. See `EXACT_INTEGERS` in collections.ts.
      useBigInt64: false,
      // With adaptive retries, the driver would repeat an insert on another primary.
      maxAdaptiveRetries: 0,
    });
  } catch (error) {
    // `cause` is left out, because the driver's error may quote the credentials.
    throw new StorageSetupError(`not a usable MongoDB connection string: ${hideSecrets(error, url)}`);
  }
}

/**
 * Other values than these would weaken writes or reads. `undefined`: the option is refused, because it does not affect
 * reads from a primary.
 */
const REQUIRED_VALUES: Readonly<Record<string, string | undefined>> = {
  w: 'majority',
  journal: 'true',
  j: 'true',
  fsync: 'true',
  readConcernLevel: 'majority',
  readPreference: 'primary',
  readPreferenceTags: undefined,
  maxStalenessSeconds: undefined,
};

function refuseWeakerGuarantees(options: readonly Option[]): void {
  const problems = Object.entries(REQUIRED_VALUES)
    .filter(([option, required]) =>
      options.some(([name, value]) => name === option.toLowerCase() && value !== required),
    )
    .map(([option, required]) => `leave out ${option}` + (required ? `, or set it to ${required}` : ''));
  if (problems.length === 0) return;
  throw new StorageSetupError(
    `the MongoDB connection string weakens a guarantee of petstore: ${problems.join('; ')}`,
  );
}

type Option = readonly [lowerCaseName: string, value: string];

/** Cuts out the query, because no URL parser accepts several hosts. */
function optionsIn(url: string): readonly Option[] {
  const [, query] = /\?(.*)/s.exec(url) ?? [];
  return Array.from(new URLSearchParams(query), ([name, value]) => [name.toLowerCase(), value]);
}

function hideSecrets(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error);
  // If the host is missing, the login stands in its place.
  const [, login = ''] = /:\/\/(.*@|[^/?]*)/s.exec(url) ?? [];
  const secrets = [
    ...login.split(/[:@]/),
    ...optionsIn(url)
      .filter(([name]) => /user|password|properties/.test(name))
      .flatMap(([, value]) => value.split(',').map((property) => property.slice(property.indexOf(':') + 1))),
  ].filter((secret) => !/^\[?\d*$/.test(secret));
  if (!secrets.some((secret) => message.includes(secret))) return message;
  return 'is the user name or the password not percent-encoded?';
}
