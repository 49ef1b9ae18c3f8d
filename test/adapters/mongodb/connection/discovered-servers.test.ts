import { EventEmitter } from 'node:events';
import { BSON, type Document, type MongoClient, MongoError, MongoParseError } from 'mongodb';
import { expect, it } from 'vitest';
import { ServerDiscovery } from '../../../../src/adapters/mongodb/connection/server-discovery.ts';

const SET = { setName: 'rs' } as const;
const ADDRESS = 'one:27017';

/** What a discovery says of the servers. */
function discover(options: Document = {}) {
  const hosts = ['one:27017'];
  const client = Object.assign(new EventEmitter(), { options: { hosts, connectTimeoutMS: 300, ...options } });
  const discovery = new ServerDiscovery(client as unknown as MongoClient);
  const failures: unknown[] = [];
  discovery.failed.catch((error: unknown) => failures.push(error));
  return {
    discovery,
    client,
    failures,
    answers: (reply: Document, connectionId = ADDRESS) =>
      client.emit('serverHeartbeatSucceeded', { connectionId, reply }),
    fails: (failure: Error, connectionId = ADDRESS) =>
      client.emit('serverHeartbeatFailed', { connectionId, failure }),
    sees: (before: number, after: number) =>
      client.emit('topologyDescriptionChanged', {
        previousDescription: { servers: { size: before } },
        newDescription: { servers: { size: after } },
      }),
  };
}

it.each<readonly [Document, string]>([
  [{ ...SET, isWritablePrimary: true }, 'is the primary of the replica set "rs"'],
  [{ ...SET, secondary: true }, 'is a secondary of the replica set "rs"'],
  [{ ...SET, arbiterOnly: true }, 'is an arbiter of the replica set "rs"'],
  [SET, 'is a member of the replica set "rs" that is not ready'],
  [{ isreplicaset: true }, 'is a member of a replica set that has not been initiated'],
  [{ msg: 'isdbgrid' }, 'is a mongos'],
  [{ isWritablePrimary: true }, 'is a standalone server'],
])('a server that answers %o %s', (reply, role) => {
  const { discovery, answers } = discover();
  answers(reply);
  expect(discovery.describe()).toBe(`one:27017 ${role}`);
});

it.each<readonly [Document, string]>([
  [{ hosts: [ADDRESS, 'two:27017'] }, 'is a standalone server, which cannot be one of several hosts'],
  [
    { hosts: [ADDRESS, 'two:27017'], replicaSet: 'rs' },
    'is a standalone server, but the connection string asks for replicaSet=rs',
  ],
])('a standalone server does not fit %o', (options, role) => {
  const { discovery, answers, failures } = discover(options);
  answers({});
  expect(discovery.describe()).toBe(`one:27017 ${role}`);
  expect(failures).toStrictEqual([]);
});

it('the last state of each server counts', () => {
  const { discovery, answers, fails } = discover({ hosts: [ADDRESS, 'two:27017'] });
  answers({ ...SET, secondary: true });
  fails(new Error('connect ECONNREFUSED'), 'two:27017');
  answers({ ...SET, isWritablePrimary: true });
  expect(discovery.describe()).toBe(
    'one:27017 is the primary of the replica set "rs"; two:27017 cannot be used: connect ECONNREFUSED',
  );
});

const causedBy = (cause: unknown) => new Error('connection failed', { cause });
const NO_PROTOCOL = 'it does not speak the MongoDB protocol';
const NO_TLS = 'it does not speak TLS, which the connection string asks for';

it.each<readonly [Error, string]>([
  [new Error('getaddrinfo ENOTFOUND one'), 'getaddrinfo ENOTFOUND one'],
  [new BSON.BSONError('corrupt'), NO_PROTOCOL],
  [new MongoParseError('corrupt'), NO_PROTOCOL],
  [causedBy(new RangeError('out of range')), NO_PROTOCOL],
  [causedBy(Object.assign(new Error('ssl'), { code: 'ERR_SSL_WRONG_VERSION_NUMBER' })), NO_TLS],
  [causedBy({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' }), 'connection failed'],
  [causedBy(Object.assign(new Error('reset'), { code: 'ECONNRESET' })), 'connection failed'],
  [new Error('socket disconnected before secure TLS connection was established'), NO_TLS],
  [
    new Error('connection 1 to one:27017 closed'),
    'it closes the connection without an answer; is it a MongoDB server without TLS?',
  ],
  [
    new Error('connection 1 to one:27017 timed out'),
    'it does not answer within 300 ms; is it a MongoDB server?',
  ],
])('a server cannot be used: %o', (failure, reason) => {
  const { discovery, fails } = discover();
  fails(failure);
  expect(discovery.describe()).toBe(`one:27017 cannot be used: ${reason}`);
});

it('a server that closes a TLS connection may still be another one', () => {
  const { discovery, fails } = discover({ tls: true });
  fails(new Error('connection 1 to one:27017 closed'));
  expect(discovery.describe()).toBe(
    'one:27017 cannot be used: it closes the connection without an answer; is it a MongoDB server?',
  );
});

it.each<readonly [Document, string]>([
  [{}, '(a member named by the replica set) '],
  [{ srvHost: 'cluster.example' }, ''],
  [{ hosts: [ADDRESS, 'two:27017'] }, ''],
])('tells a host of the connection string from another: %o', (options, origin) => {
  const { discovery, fails } = discover(options);
  fails(new Error('no'), 'two:27017');
  expect(discovery.describe()).toBe(`two:27017 ${origin}cannot be used: no`);
});

it('fails at once when no suitable server is left', async () => {
  const { discovery, answers, sees, failures } = discover();
  answers({});
  sees(0, 0);
  sees(0, 1);
  sees(2, 1);
  await Promise.resolve();
  expect(failures).toStrictEqual([]);
  sees(1, 0);

  await expect(discovery.failed).rejects.toStrictEqual(
    new MongoError('no suitable server: one:27017 is a standalone server'),
  );
});

it.each<readonly [Document, boolean]>([
  [{ directConnection: true, replicaSet: 'other' }, true],
  [{ directConnection: true, replicaSet: 'rs' }, false],
  [{ directConnection: true }, false],
  [{ replicaSet: 'other' }, false],
])('fails at once if the only server is of another set: %o', async (options, expected) => {
  const { answers, failures } = discover(options);
  answers({ ...SET, secondary: true });
  await Promise.resolve();
  const line =
    'no suitable server: one:27017 is a secondary of the replica set "rs", but the connection string asks for ' +
    'replicaSet=other';
  expect(failures).toStrictEqual(expected ? [new MongoError(line)] : []);
});

it('records nothing after it stops', () => {
  const { discovery, client } = discover();
  discovery.stop();
  expect(client.eventNames()).toStrictEqual([]);
});
