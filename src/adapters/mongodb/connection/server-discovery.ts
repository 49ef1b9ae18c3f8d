import {
  BSON,
  type Document,
  type MongoClient,
  MongoError,
  MongoParseError,
  type ServerHeartbeatFailedEvent,
  type ServerHeartbeatSucceededEvent,
  type TopologyDescriptionChangedEvent,
} from 'mongodb';
import { described } from './mongo-errors.ts';

/** The driver's errors when a server speaks another protocol. */
const PROTOCOL_ERRORS = [BSON.BSONError, MongoParseError, RangeError] as const;

/** Records what each server reports while a client connects. The driver forgets unsuitable servers. */
export class ServerDiscovery {
  readonly #client: MongoClient;
  readonly #seen = new Map<string, string>();
  readonly #failed = Promise.withResolvers<never>();

  constructor(client: MongoClient) {
    this.#client = client;
    client.on('serverHeartbeatSucceeded', this.#onAnswer);
    client.on('serverHeartbeatFailed', this.#onFailure);
    client.on('topologyDescriptionChanged', this.#onTopology);
    // Prevents an unhandled rejection if the caller never reads `failed`.
    this.#failed.promise.catch(() => {});
  }

  /** Never resolves. Rejects with a {@link MongoError} when no suitable server is left. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  /** Stops recording. */
  stop(): void {
    this.#client.off('serverHeartbeatSucceeded', this.#onAnswer);
    this.#client.off('serverHeartbeatFailed', this.#onFailure);
    this.#client.off('topologyDescriptionChanged', this.#onTopology);
  }

  /** The state of each server, or why it cannot be used. */
  describe(): string {
    return [...this.#seen].map(([address, what]) => `${address} ${what}`).join('; ');
  }

  readonly #onAnswer = ({ connectionId: address, reply }: ServerHeartbeatSucceededEvent): void => {
    const { directConnection, replicaSet, hosts } = this.#client.options;
    const isOtherSet = replicaSet !== undefined && reply['setName'] !== replicaSet;
    const isOneOfMany = replicaSet === undefined && hosts.length > 1;
    const problem = isOtherSet ? `, but the connection string asks for replicaSet=${replicaSet}` : '';
    this.#seen.set(address, roleOf(reply, isOneOfMany) + problem);
    if (directConnection && isOtherSet) this.#giveUp();
  };

  readonly #onFailure = ({ connectionId: address, failure }: ServerHeartbeatFailedEvent): void => {
    const { hosts, srvHost } = this.#client.options;
    const isSeed = srvHost !== undefined || hosts.some((host) => host.toString() === address);
    const origin = isSeed ? '' : '(a member named by the replica set) ';
    this.#seen.set(address, `${origin}cannot be used: ${this.#reason(failure)}`);
  };

  readonly #onTopology = ({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void => {
    if (previousDescription.servers.size > 0 && newDescription.servers.size === 0) this.#giveUp();
  };

  #giveUp(): void {
    this.#failed.reject(new MongoError(`no suitable server: ${this.describe()}`));
  }

  #reason(failure: Error): string {
    const { tls, connectTimeoutMS } = this.#client.options;
    const { message, cause } = failure;
    if (isProtocolError(failure) || isProtocolError(cause)) {
      return 'it does not speak the MongoDB protocol';
    }
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || message.includes('before secure TLS connection')) {
      return 'it does not speak TLS, which the connection string asks for';
    }
    if (/^connection .* closed$/.test(message)) {
      return `it closes the connection without an answer; is it a MongoDB server${tls ? '' : ' without TLS'}?`;
    }
    if (/^(?:connection .*|Socket 'connect') timed out/.test(message)) {
      return `it does not answer within ${connectTimeoutMS} ms; is it a MongoDB server?`;
    }
    return described(failure);
  }
}

function isProtocolError(error: unknown): boolean {
  return PROTOCOL_ERRORS.some((kind) => error instanceof kind);
}

/** @param hello the reply to the command of this name */
function roleOf(hello: Document, isOneOfMany: boolean): string {
  const { setName, isWritablePrimary, secondary, arbiterOnly, isreplicaset, msg } = hello;
  if (msg === 'isdbgrid') return 'is a mongos';
  if (isreplicaset) return 'is a member of a replica set that has not been initiated';
  if (setName === undefined)
    return `is a standalone server${isOneOfMany ? ', which cannot be one of several hosts' : ''}`;
  const set = `of the replica set "${setName}"`;
  if (isWritablePrimary) return `is the primary ${set}`;
  if (secondary) return `is a secondary ${set}`;
  return arbiterOnly ? `is an arbiter ${set}` : `is a member ${set} that is not ready`;
}
