import { MongoClient, type MongoClientOptions } from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import { CERTIFICATE_FILES } from './certificates.ts';

/**
 * The connection string may override these options, but not `GUARANTEES`. With the driver's defaults, an unresponsive
 * primary could block a request for 40 s.
 */
const DEFAULT_OPTIONS = {
  appName: 'petstore',
  maxPoolSize: 50,
  waitQueueTimeoutMS: 2_000,
  /** The longest wait for a primary at a start. Longer than the limit of a call. */
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
 * @param overrides other defaults for this client. The connection string may override these, too
 * @throws {StorageSetupError} for an unusable connection string; the message never quotes credentials
 */
export function createClient(url: string, overrides: MongoClientOptions = {}): MongoClient {
  const options = optionsIn(url);
  refuseWeakerGuarantees(options);
  const isInUrl = (option: string) => options.some(([name]) => name === option.toLowerCase());
  const defaults = Object.entries({ ...DEFAULT_OPTIONS, ...overrides }).filter(([name]) => !isInUrl(name));
  const certificates = CERTIFICATE_FILES.flatMap(([file, names]) => (isInUrl(file) ? names : []));
  try {
    return new MongoClient(url, {
      ...Object.fromEntries(defaults),
      // `readCertificates` fills these arrays.
      ...Object.fromEntries(certificates.map((name) => [name, []])),
      // A connection string cannot change this: see `EXACT_INTEGERS` in collections.ts.
      useBigInt64: false,
      // A connection string cannot change this: the driver would repeat an insert on another primary.
      maxAdaptiveRetries: 0,
    });
  } catch (error) {
    // Has no `cause`, because the cause may quote the credentials.
    throw new StorageSetupError(`not a usable MongoDB connection string: ${hideSecrets(error, url)}`);
  }
}

/**
 * Other values are refused, because they would weaken writes and reads. `undefined`: every value is refused, because
 * none affects reads from a primary.
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

/** Cuts out the query, because no URL parser accepts several hosts. */
function optionsIn(url: string): readonly Option[] {
  const [, query] = /\?(.*)/s.exec(url) ?? [];
  return Array.from(new URLSearchParams(query), ([name, value]) => [name.toLowerCase(), value]);
}

function hideSecrets(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error);
  // Without a host, the user and the password stand in the place of the host.
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
