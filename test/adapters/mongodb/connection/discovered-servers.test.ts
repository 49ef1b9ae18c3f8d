import { EventEmitter } from 'node:events';
import type { Document, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { discoverServers } from '../../../../src/adapters/mongodb/connection/server-discovery.ts';

const SET = { setName: 'rs' } as const;
const ADDRESS = 'one:27017';
const TWO = { hosts: [ADDRESS, 'two:27017'] };

/** What a discovery says of the servers. */
function discover(options: Document = {}) {
  const client = Object.assign(new EventEmitter(), {
    options: { hosts: [ADDRESS], connectTimeoutMS: 300, ...options },
  });
  const discovery = discoverServers(client as unknown as MongoClient);
  return {
    discovery,
    answers: (reply: Document, connectionId = ADDRESS) =>
      client.emit('serverHeartbeatSucceeded', { connectionId, reply }),
    fails: (failure: Error, connectionId = ADDRESS) =>
      client.emit('serverHeartbeatFailed', { connectionId, failure }),
  };
}

it.each<readonly [options: Document, reply: Document, role: string]>([
  [{}, { ...SET, isWritablePrimary: true }, 'is the primary of the replica set "rs"'],
  [{}, { ...SET, secondary: true }, 'is a secondary of the replica set "rs"'],
  [{}, { ...SET, arbiterOnly: true }, 'is an arbiter of the replica set "rs"'],
  [{}, SET, 'is a member of the replica set "rs" that is not ready'],
  [{}, { isreplicaset: true }, 'is a member of a replica set that has not been initiated'],
  [{}, { msg: 'isdbgrid' }, 'is a mongos'],
  [{}, { isWritablePrimary: true }, 'is a standalone server'],
  [TWO, {}, 'is a standalone server, which cannot be one of several hosts'],
  [
    { ...TWO, replicaSet: 'rs' },
    {},
    'is a standalone server, but the connection string asks for replicaSet=rs',
  ],
])('with the options %o, a server that answers %o %s', (options, reply, role) => {
  const { discovery, answers } = discover(options);
  answers(reply);
  expect(discovery.describe()).toBe(`one:27017 ${role}`);
});

it('the last state of each server counts', () => {
  const { discovery, answers, fails } = discover(TWO);
  answers({ ...SET, secondary: true });
  fails(new Error('connect ECONNREFUSED'), 'two:27017');
  answers({ ...SET, isWritablePrimary: true });
  expect(discovery.describe()).toBe(
    'one:27017 is the primary of the replica set "rs"; two:27017 cannot be used: connect ECONNREFUSED',
  );
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
  [TWO, ''],
])('tells a host of the connection string from another: %o', (options, origin) => {
  const { discovery, fails } = discover(options);
  fails(new Error('no'), 'two:27017');
  expect(discovery.describe()).toBe(`two:27017 ${origin}cannot be used: no`);
});
