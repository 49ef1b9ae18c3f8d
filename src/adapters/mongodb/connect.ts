import { setTimeout as sleep } from 'node:timers/promises';
import {
  MongoClient,
  type MongoClientOptions,
  MongoError,
  type MongoOptions,
  MongoServerSelectionError,
} from 'mongodb';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { SeenServers } from './seen-servers.ts';

/** How often a member is asked whether it has become the primary. */
const PRIMARY_PAUSE_MS = 200;

/**
 * Our defaults; a connection string that names one of these options wins, as long as it promises no less (see
 * `PROMISED`). The driver's own would let a request hang for 40 s on a primary that has frozen.
 */
const DEFAULT_OPTIONS = {
  appName: 'petstore',
  maxPoolSize: 50,
  waitQueueTimeoutMS: 2_000,
  /** Longer than an election. */
  serverSelectionTimeoutMS: 15_000,
  connectTimeoutMS: 2_000,
  heartbeatFrequencyMS: 2_000,
  socketTimeoutMS: 8_000,
  retryReads: true,
  retryWrites: true,
  w: 'majority',
  journal: true,
  wtimeoutMS: 5_000,
  readConcernLevel: 'majority',
} as const;

/**
 * A client that is connected to a primary.
 *
 * @param overrides defaults for this client alone; the connection string wins over them too
 * @throws {StorageSetupError}
 */
export async function connect(url: string, overrides: MongoClientOptions = {}): Promise<MongoClient> {
  const client = newClient(url, overrides);
  const servers = new SeenServers(client);
  try {
    await Promise.race([client.connect(), servers.noneLeft]);
    if (client.options.directConnection) await waitForPrimary(client);
    return client;
  } catch (error) {
    await client.close();
    if (!(error instanceof MongoServerSelectionError)) throw setupError(client, error);
    // Its own message speaks of one server at most.
    throw new StorageSetupError(`MongoDB at ${whereabouts(client)}: no primary: ${servers.describe()}`, {
      cause: error,
    });
  } finally {
    servers.stop();
  }
}

/**
 * A direct connection is also made to a secondary, which takes no writes, and whose reads are old.
 *
 * @throws {StorageSetupError} at once when another member is the primary, else when there is none in time
 */
async function waitForPrimary(client: MongoClient): Promise<void> {
  const deadline = performance.now() + client.options.serverSelectionTimeoutMS;
  for (;;) {
    const { isWritablePrimary, setName, primary, me } = await client.db('admin').command({ hello: 1 });
    if (isWritablePrimary) return;
    if ((primary !== undefined && primary !== me) || performance.now() > deadline) {
      const other = primary === undefined ? 'there is none' : `that is ${primary}`;
      throw new StorageSetupError(
        `MongoDB at ${whereabouts(client)}: directConnection=true, but it is not the primary of the replica set ` +
          `"${setName}" (${other}); use replicaSet=${setName} instead`,
      );
    }
    await sleep(PRIMARY_PAUSE_MS);
  }
}

/** @throws {StorageSetupError} for a connection string that does not do, with nothing of its credentials */
export function newClient(url: string, overrides: MongoClientOptions = {}): MongoClient {
  let client: MongoClient;
  try {
    const defaults = Object.entries({ ...DEFAULT_OPTIONS, ...overrides });
    const named = optionsNamedIn(url);
    client = new MongoClient(url, {
      ...Object.fromEntries(defaults.filter(([name]) => !named.has(name.toLowerCase()))),
      // Not for the connection string to change: see `EXACT` in schema.ts.
      useBigInt64: false,
    });
  } catch (error) {
    // The cause stays out: it may quote the credentials.
    throw new StorageSetupError(`not a usable MongoDB connection string: ${harmless(error, url)}`);
  }
  if (!/^[^:]+:\/\/[^/?]+\/[^?]/.test(url)) {
    throw new StorageSetupError(
      'the MongoDB connection string must name a database: mongodb://HOST:PORT/DATABASE',
    );
  }
  refuseWeaker(client.options, optionsNamedIn(url));
  return client;
}

/** What an acknowledged pet and a read after it rest on: the options that could weaken it, and what they must be. */
const PROMISED: readonly {
  readonly options: readonly string[];
  readonly must: string;
  readonly isKept: (options: MongoOptions) => boolean;
}[] = [
  { options: ['w'], must: 'majority', isKept: ({ writeConcern }) => writeConcern?.w === 'majority' },
  {
    options: ['journal', 'j', 'fsync'],
    must: 'true',
    isKept: ({ writeConcern }) => writeConcern?.journal === true,
  },
  {
    options: ['readConcernLevel'],
    must: 'majority',
    isKept: ({ readConcern }) => readConcern?.level === 'majority',
  },
  {
    options: ['readPreference'],
    must: 'primary',
    isKept: ({ readPreference }) => readPreference.mode === 'primary',
  },
];

/** A primary is read whatever its tags and its staleness are. */
const MEANINGLESS = ['readPreferenceTags', 'maxStalenessSeconds'];

/** @throws {StorageSetupError} */
function refuseWeaker(options: MongoOptions, named: ReadonlySet<string>): void {
  const isNamed = (option: string) => named.has(option.toLowerCase());
  const problems = [
    ...PROMISED.filter(({ isKept }) => !isKept(options)).flatMap(({ options: names, must }) =>
      names.filter(isNamed).map((name) => `leave out ${name}, or set it to ${must}`),
    ),
    ...MEANINGLESS.filter(isNamed).map((name) => `leave out ${name}`),
  ];
  if (problems.length === 0) return;
  throw new StorageSetupError(
    `the MongoDB connection string asks for less than petstore promises: ${problems.join('; ')}`,
  );
}

/** What an operator needs to know about an error while the storage is set up. */
export function setupError(client: MongoClient, error: unknown): unknown {
  // A name that DNS does not know, or a certificate that cannot be read, is no MongoError.
  const isSystemError = error instanceof Error && 'code' in error;
  if (!(error instanceof MongoError || isSystemError)) return error;
  // The whole command is more than anybody wants to read.
  const message = error.message.replace(/( to execute command) \{ (\w+): .*/s, '$1 $2');
  return new StorageSetupError(`MongoDB at ${whereabouts(client)}: ${message}`, { cause: error });
}

function whereabouts({ options: { srvHost, hosts, dbName } }: MongoClient): string {
  return `${srvHost ?? hosts.join(', ')}, database "${dbName}"`;
}

function optionsNamedIn(url: string): ReadonlySet<string> {
  return new Set([...queryOf(url).keys()].map((name) => name.toLowerCase()));
}

/** By hand, because a connection string may name several hosts, which no URL parser takes. */
function queryOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start));
}

/** The message of an error about the connection string, unless it quotes a secret of it. */
function harmless(error: unknown, url: string): string {
  const message = error instanceof Error ? error.message : String(error);
  // Also what stands where a port should: a password, if the host has been forgotten.
  const [, userinfo = ''] = /:\/\/(.*)@/s.exec(url) ?? [];
  const [, authority = ''] = /:\/\/([^/?]*)/.exec(url) ?? [];
  const secrets = [
    ...userinfo.split(':'),
    ...authority.split(/[:@]/).slice(1),
    ...[...queryOf(url)].filter(([name]) => /user|password|properties/i.test(name)).map(([, value]) => value),
  ].filter((secret) => !/^\d*$/.test(secret));
  if (!secrets.some((secret) => message.includes(secret))) return message;
  return 'is the user name or the password not percent-encoded?';
}
