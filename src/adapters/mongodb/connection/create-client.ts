import { MongoClient, type MongoClientOptions } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { CERTIFICATE_FILES } from './certificates.ts';

/**
 * Defaults of every client. The connection string overrides them but for the guarantees in `GUARANTEES`. With the
 * driver's own defaults a frozen primary can hang a request for 40 s.
 */
const DEFAULT_OPTIONS = {
  appName: 'petstore',
  maxPoolSize: 50,
  waitQueueTimeoutMS: 2_000,
  /** Longer than a call. So long a start waits for a primary. */
  serverSelectionTimeoutMS: 25_000,
  connectTimeoutMS: 2_000,
  /** An outage that is over is noticed so late at most. */
  heartbeatFrequencyMS: 500,
  socketTimeoutMS: 8_000,
  retryReads: true,
  retryWrites: true,
  w: 'majority',
  journal: true,
  /** How long a write may wait for a majority. */
  wtimeoutMS: 5_000,
  readConcernLevel: 'majority',
} as const;

/**
 * Creates a client that is not yet connected.
 *
 * @param overrides defaults for this client; the connection string overrides them too
 * @throws {StorageSetupError} for an unusable connection string; the message never quotes credentials
 */
export function createClient(url: string, overrides: MongoClientOptions = {}): MongoClient {
  const options = optionsIn(url);
  refuseWeakerGuarantees(options);
  const isNamed = (option: string) => options.some(([name]) => name === option.toLowerCase());
  const defaults = Object.entries({ ...DEFAULT_OPTIONS, ...overrides }).filter(([name]) => !isNamed(name));
  const certificates = CERTIFICATE_FILES.flatMap(([file, names]) => (isNamed(file) ? names : []));
  try {
    return new MongoClient(url, {
      ...Object.fromEntries(defaults),
      // Empty until `readCertificates` fills them.
      ...Object.fromEntries(certificates.map((name) => [name, []])),
      // The connection string cannot enable this: see `EXACT` in collections.ts.
      useBigInt64: false,
      // Nor this: the driver would repeat any command, an insert by `insertInOrder` too, on another primary.
      maxAdaptiveRetries: 0,
    });
  } catch (error) {
    // No cause: it may quote the credentials.
    throw new StorageSetupError(`not a usable MongoDB connection string: ${withoutSecrets(error, url)}`);
  }
}

/**
 * The options that durable writes and reads of acknowledged writes depend on, and the value that each must have. Without
 * a value: an option that has no effect on reads from a primary.
 */
const GUARANTEES: Readonly<Record<string, string | undefined>> = {
  w: 'majority',
  journal: 'true',
  j: 'true',
  fsync: 'true',
  readConcernLevel: 'majority',
  readPreference: 'primary',
  readPreferenceTags: undefined,
  maxStalenessSeconds: undefined,
};

/** @throws {StorageSetupError} */
function refuseWeakerGuarantees(options: readonly Option[]): void {
  const problems = Object.entries(GUARANTEES)
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

/** Parsed by hand: a connection string may name several hosts, which no URL parser accepts. */
function optionsIn(url: string): readonly Option[] {
  const [, query] = /\?(.*)/s.exec(url) ?? [];
  return Array.from(new URLSearchParams(query), ([name, value]) => [name.toLowerCase(), value]);
}

/** The message of an error about the connection string, or a hint if the message quotes a secret. */
function withoutSecrets(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error);
  // If the host is missing, user and password stand in the place of host and port.
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
