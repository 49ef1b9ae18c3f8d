import { BSON, type Document, type MongoClient, MongoError, MongoParseError } from 'mongodb';
import { described } from './mongo-errors.ts';

/** The driver's errors when a server speaks another protocol. */
const PROTOCOL_ERRORS = [BSON.BSONError, MongoParseError, RangeError] as const;

/** Records what each server reports while a client connects. The driver forgets unsuitable servers. */
export function discoverServers(client: MongoClient) {
  const { directConnection, replicaSet, hosts, srvHost } = client.options;
  /** The last reply of each server, or why there was none. */
  const seen = new Map<string, Document | Error>();
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // Prevents an unhandled rejection if the caller never reads it.
  failed.catch(() => {});

  const isOtherSet = (reply: Document) => replicaSet !== undefined && reply['setName'] !== replicaSet;
  const stateOf = ([address, reply]: readonly [string, Document | Error]) => {
    if (reply instanceof Error) {
      const isSeed = srvHost !== undefined || hosts.some((host) => host.toString() === address);
      const origin = isSeed ? '' : '(a member named by the replica set) ';
      return `${address} ${origin}cannot be used: ${reasonOf(reply, client)}`;
    }
    const isOneOfMany = replicaSet === undefined && hosts.length > 1;
    const problem = isOtherSet(reply) ? `, but the connection string asks for replicaSet=${replicaSet}` : '';
    return `${address} ${roleOf(reply, isOneOfMany)}${problem}`;
  };
  const describe = () => Array.from(seen, stateOf).join('; ');
  const giveUp = () => reject(new MongoError(`no suitable server: ${describe()}`));

  client.on('serverHeartbeatSucceeded', ({ connectionId, reply }) => {
    seen.set(connectionId, reply);
    if (directConnection && isOtherSet(reply)) giveUp();
  });
  client.on('serverHeartbeatFailed', ({ connectionId, failure }) => void seen.set(connectionId, failure));
  client.on('topologyDescriptionChanged', ({ previousDescription: before, newDescription: now }) => {
    if (before.servers.size > 0 && now.servers.size === 0) giveUp();
  });
  return {
    /** Never resolves. Rejects with a {@link MongoError} when no suitable server is left. */
    failed,
    /** The state of each server, or why it cannot be used. */
    describe,
  };
}

function reasonOf(failure: Error, { options: { tls, connectTimeoutMS } }: MongoClient): string {
  const { message, cause } = failure;
  if ([failure, cause].some((error) => PROTOCOL_ERRORS.some((kind) => error instanceof kind))) {
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
