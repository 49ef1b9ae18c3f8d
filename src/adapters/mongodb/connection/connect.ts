import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ConnectionPoolEvents,
  type Document,
  type MongoClient,
  type MongoClientOptions,
  MongoError,
  MongoNetworkError,
  MongoServerSelectionError,
} from 'mongodb';
import { StorageSetupError } from '../../../application/ports/storage-errors.ts';
import type { ConnectionEvent, StorageLog, StorageMeter } from '../../../application/ports/storage-health.ts';
import { readCertificates } from './certificates.ts';
import { createClient } from './create-client.ts';
import { memberStates } from './member-states.ts';
import { describeError } from './mongo-errors.ts';
import { isServerError } from './server-error-codes.ts';

const PRIMARY_POLL_INTERVAL_MS = 200;

const NO_PRIMARY_WARNING_DELAY_MS = 2_000;

/** See https://www.mongodb.com/docs/drivers/node/current/monitoring-and-logging/monitoring/ */
const POOL_EVENTS = [
  ['connectionCreated', 'opened'],
  ['connectionClosed', 'closed'],
  ['connectionCheckOutStarted', 'requested'],
  ['connectionCheckedOut', 'taken'],
  ['connectionCheckOutFailed', 'refused'],
  ['connectionCheckedIn', 'returned'],
] as const satisfies readonly (readonly [keyof ConnectionPoolEvents, ConnectionEvent])[];

export type Reports = { readonly log?: StorageLog; readonly meter?: StorageMeter };

/** @throws {StorageSetupError} for an unusable connection string, or if no primary is reached in time */
export async function connect(
  url: string,
  overrides: MongoClientOptions = {},
  { log, meter }: Reports = {},
): Promise<MongoClient> {
  const startedAtMs = performance.now();
  for (;;) {
    const client = createClient(url, overrides);
    const limit = `${client.options.serverSelectionTimeoutMS / 1_000} s`;
    const warn = () =>
      log?.warn(`MongoDB at ${locationOf(client)}: no primary yet; still trying for up to ${limit}`);
    const warningTimer = setTimeout(warn, NO_PRIMARY_WARNING_DELAY_MS);
    for (const [name, event] of POOL_EVENTS) client.on(name, () => meter?.connection(event));
    try {
      await readCertificates(client);
      await Promise.race([client.connect(), rejectIfNoServerFits(client)]);
      const { setName, maxWireVersion } = await waitForPrimary(client);
      // Wire version 25 is MongoDB 8.0.
      const mayLosePets = setName === undefined && maxWireVersion >= 25;
      if (mayLosePets) log?.warn(`MongoDB at ${locationOf(client)} ${MAY_LOSE_PETS}`);
      return client;
    } catch (error) {
      await client.close();
      const isLate = performance.now() - startedAtMs > client.options.serverSelectionTimeoutMS;
      if (isLate || !isRetryable(error)) throw toSetupError(client, error);
    } finally {
      clearTimeout(warningTimer);
    }
    await sleep(PRIMARY_POLL_INTERVAL_MS);
  }
}

const MAY_LOSE_PETS =
  'is a standalone server of version 8.0 or later, which can lose acknowledged pets when it is killed; ' +
  'use a replica set of three members: https://jira.mongodb.org/browse/SERVER-139311';

const URL_ADVICE = 'check the hosts, replicaSet and tls in the URL';

/** Rejects when no server belongs to the replica set of the URL, because the driver would wait. */
async function rejectIfNoServerFits(client: MongoClient): Promise<never> {
  const { directConnection, replicaSet } = client.options;
  const { promise, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(new MongoError(`no server fits; ${URL_ADVICE}`));
  client.on('topologyDescriptionChanged', ({ previousDescription: before, newDescription: now }) => {
    if (before.servers.size > 0 && now.servers.size === 0) giveUp();
  });
  client.on('serverHeartbeatSucceeded', ({ reply }) => {
    if (directConnection && replicaSet !== undefined && reply['setName'] !== replicaSet) giveUp();
  });
  return promise;
}

/** The driver itself does not retry a connection that fails after a server was found. */
function isRetryable(error: unknown): boolean {
  // The driver does not export `MongoWaitQueueTimeoutError`.
  return (
    error instanceof MongoNetworkError ||
    (error instanceof MongoError && error.name === 'MongoWaitQueueTimeoutError')
  );
}

/**
 * Refuses a mongos (a router) and a secondary: see docs/explanation/confirmed-reads.md.
 *
 * @throws {StorageSetupError} immediately if another member is the primary, or later if no primary is elected in time
 */
async function waitForPrimary(client: MongoClient): Promise<Document> {
  const { directConnection, serverSelectionTimeoutMS } = client.options;
  const deadlineMs = performance.now() + serverSelectionTimeoutMS;
  for (;;) {
    const hello = await client.db('admin').command({ hello: 1 });
    const { msg, isWritablePrimary, setName, primary, me } = hello;
    if (msg === 'isdbgrid') {
      throw new StorageSetupError(
        `MongoDB at ${locationOf(client)} is a mongos; petstore needs a replica set without sharding`,
      );
    }
    if (isWritablePrimary || !directConnection) return hello;
    if ((primary !== undefined && primary !== me) || performance.now() > deadlineMs) {
      const otherPrimary = primary === undefined ? 'there is none' : `that is ${primary}`;
      throw new StorageSetupError(
        `MongoDB at ${locationOf(client)}: directConnection=true, but it is not the primary of the replica set ` +
          `"${setName}" (${otherPrimary}); use replicaSet=${setName} instead`,
      );
    }
    await sleep(PRIMARY_POLL_INTERVAL_MS);
  }
}

/** @returns a {@link StorageSetupError} for an error of the driver or the system; any other error unchanged */
export function toSetupError(client: MongoClient, error: unknown): unknown {
  // An unknown host name or an unreadable certificate is not a MongoError.
  const isSystemError = error instanceof Error && 'code' in error;
  if (!(error instanceof MongoError || isSystemError)) return error;
  return new StorageSetupError(
    `MongoDB at ${locationOf(client)}: ${selectionProblem(error) ?? loginProblem(client, error) ?? describeError(error)}`,
  );
}

/** Names all members, because the driver's message names at most one. */
function selectionProblem(error: Error): string | undefined {
  const members = error instanceof MongoServerSelectionError && error.reason;
  return members ? `no primary; members: ${memberStates(members)}; ${URL_ADVICE}` : undefined;
}

function loginProblem({ options: { credentials } }: MongoClient, error: unknown): string | undefined {
  // Errors of several classes have this text.
  const [, module] = /^Optional module `(.+?)` not found/.exec((error as Error).message) ?? [];
  if (module !== undefined) {
    return `an option of the URL needs the module ${module}, which petstore does not have: leave it out`;
  }
  const reply = error instanceof MongoError && error.cause instanceof MongoError ? error.cause : error;
  if (isServerError(reply, 'Unauthorized') && credentials === undefined) {
    return 'it requires a login: put USER:PASSWORD@ before the host, percent-encoded';
  }
  // Atlas has a code of its own for a wrong password.
  if (!isServerError(reply, 'AuthenticationFailed', 'AtlasError')) return undefined;
  return (
    `${describeError(error)}: wrong password, or no such user in the database "${credentials?.source}"; ` +
    'authSource names the database that has the user, often admin'
  );
}

export function throwIfProblem(problem: string | undefined): void {
  if (problem !== undefined) throw new StorageSetupError(problem);
}

function locationOf({ options: { srvHost, hosts, dbName } }: MongoClient): string {
  return `${srvHost ?? hosts.join(', ')}, database "${dbName}"`;
}
