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

/** What the driver comes to when it takes another protocol for its own. */
const NOT_THE_PROTOCOL = [BSON.BSONError, MongoParseError, RangeError] as const;

/** What the servers of a client have said of themselves while it connects: the driver forgets those that do not fit. */
export class SeenServers {
  readonly #client: MongoClient;
  readonly #seen = new Map<string, string>();
  readonly #noneLeft = Promise.withResolvers<never>();

  constructor(client: MongoClient) {
    this.#client = client;
    client.on('serverHeartbeatSucceeded', this.#onAnswer);
    client.on('serverHeartbeatFailed', this.#onFailure);
    client.on('topologyDescriptionChanged', this.#onTopology);
    // It need not have been asked for.
    this.#noneLeft.promise.catch(() => {});
  }

  /** Rejects with a {@link MongoError} when no server is left that could be the right one. */
  get noneLeft(): Promise<never> {
    return this.#noneLeft.promise;
  }

  stop(): void {
    this.#client.off('serverHeartbeatSucceeded', this.#onAnswer);
    this.#client.off('serverHeartbeatFailed', this.#onFailure);
    this.#client.off('topologyDescriptionChanged', this.#onTopology);
  }

  /** What each of them is, or why it cannot be used. */
  describe(): string {
    return [...this.#seen].map(([address, what]) => `${address} ${what}`).join('; ');
  }

  readonly #onAnswer = ({ connectionId: address, reply }: ServerHeartbeatSucceededEvent): void => {
    const { directConnection, replicaSet, hosts } = this.#client.options;
    const isStranger = replicaSet !== undefined && reply['setName'] !== replicaSet;
    const isOneOfMany = replicaSet === undefined && hosts.length > 1;
    const problem = isStranger ? `, but the connection string asks for replicaSet=${replicaSet}` : '';
    this.#seen.set(address, roleOf(reply, isOneOfMany) + problem);
    if (directConnection && isStranger) this.#giveUp();
  };

  readonly #onFailure = ({ connectionId: address, failure }: ServerHeartbeatFailedEvent): void => {
    const { hosts, srvHost } = this.#client.options;
    const isSeed = srvHost !== undefined || hosts.some((host) => host.toString() === address);
    const origin = isSeed ? '' : '(which the replica set names as a member) ';
    this.#seen.set(address, `${origin}cannot be used: ${this.#reason(failure)}`);
  };

  readonly #onTopology = ({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void => {
    // It is emptied at the close as well.
    if (previousDescription.servers.size > 0 && newDescription.servers.size === 0) this.#giveUp();
  };

  #giveUp(): void {
    this.#noneLeft.reject(new MongoError(`no server that fits: ${this.describe()}`));
  }

  #reason(failure: Error): string {
    const { tls, connectTimeoutMS } = this.#client.options;
    const { message, cause } = failure;
    if (isGarbage(failure) || isGarbage(cause)) {
      return 'it does not speak as a MongoDB does';
    }
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || message.includes('before secure TLS connection')) {
      return 'it does not speak TLS, which the connection string asks for';
    }
    if (/^connection .* closed$/.test(message)) {
      return `it closes the connection without an answer; is it a MongoDB${tls ? '' : ', and one without TLS'}?`;
    }
    if (/^connection .* timed out$/.test(message)) {
      return `it does not answer within ${connectTimeoutMS} ms; is it a MongoDB?`;
    }
    return message;
  }
}

function isGarbage(error: unknown): boolean {
  return NOT_THE_PROTOCOL.some((kind) => error instanceof kind);
}

/** @param hello the answer to the command of this name */
function roleOf(hello: Document, isOneOfMany: boolean): string {
  const { setName, isWritablePrimary, secondary, arbiterOnly, isreplicaset, msg } = hello;
  if (msg === 'isdbgrid') return 'is a mongos';
  if (isreplicaset) return 'is a member of a replica set that has not been initiated';
  if (setName === undefined)
    return `is a standalone server${isOneOfMany ? ', which cannot be one of several' : ''}`;
  const set = `of the replica set "${setName}"`;
  if (isWritablePrimary) return `is the primary ${set}`;
  if (secondary) return `is a secondary ${set}`;
  return arbiterOnly ? `is an arbiter ${set}` : `is a member ${set} that is not ready`;
}
