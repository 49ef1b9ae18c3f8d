import { MongoClient, type MongoClientOptions } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { CERTIFICATE_FILES } from './certificates.ts';

/**
 * The connection string overrides all but `GUARANTEES`. The defaults of the driver let a frozen primary block a request
 * for 40 s.
 */
const DEFAULT_OPTIONS = {
  appName: 'petstore',
  maxPoolSize: 50,
  waitQueueTimeoutMS: 2_000,
  /** Limits the wait of a start for a primary. Longer than a call. */
  serverSelectionTimeoutMS: 25_000,
  connectTimeoutMS: 2_000,
  /** The end of an outage is noticed at most this late. */
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
      // Filled by `readCertificates`.
      ...Object.fromEntries(certificates.map((name) => [name, []])),
      // A connection string cannot change this: see `EXACT` in collections.ts.
      useBigInt64: false,
      // Nor this: the driver would repeat an insert on another primary.
      maxAdaptiveRetries: 0,
    });
  } catch (error) {
    // No cause, because it may quote the credentials.
    throw new StorageSetupError(`not a usable MongoDB connection string: ${withoutSecrets(error, url)}`);
  }
}

/**
 * Other values would weaken writes and reads. `undefined`: no value is accepted, because none affects reads from a
 * primary.
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

/** Parsed by hand: no URL parser accepts several hosts. */
function optionsIn(url: string): readonly Option[] {
  const [, query] = /\?(.*)/s.exec(url) ?? [];
  return Array.from(new URLSearchParams(query), ([name, value]) => [name.toLowerCase(), value]);
}

function withoutSecrets(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error);
  // Without a host, the user and the password stand in its place.
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
