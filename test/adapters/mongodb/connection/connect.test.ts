import type { MongoClient } from 'mongodb';
import { MongoError } from 'mongodb';
import { expect, it, onTestFinished } from 'vitest';
import { connect, toSetupError } from '../../../../src/adapters/mongodb/connection/connect.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent } from '../../../../src/application/ports/storage-meter.ts';
import { addressOf, throughPort, withOptions } from '../../../support/mongo-database.ts';
import { sharedMongo } from '../../../support/mongodb.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';

const mongo = await sharedMongo();
const leftOut = mongo === undefined ? ' (left out: no server)' : '';

const clientOf = (options: object) => ({ options }) as unknown as MongoClient;
const client = clientOf({ hosts: ['one:1', 'two:2'], dbName: 'shop' });
const at = 'MongoDB at one:1, two:2, database "shop":';

it.each<readonly [Error, string]>([
  [new MongoError('not authorized'), `${at} not authorized`],
  [
    Object.assign(new Error('getaddrinfo ENOTFOUND one'), { code: 'ENOTFOUND' }),
    `${at} getaddrinfo ENOTFOUND one`,
  ],
  [
    new MongoError('not authorized on shop to execute command { find: "pets",\n filter: {} }'),
    `${at} not authorized on shop to execute command find`,
  ],
])('becomes one line for the operator: %s', (error, line) => {
  const reported = toSetupError(client, error);

  expect(reported).toStrictEqual(new StorageSetupError(line, { cause: error }));
  expect(reported).toMatchObject({ cause: error });
});

it('names a cluster by its service record', () => {
  const cluster = clientOf({ srvHost: 'cluster.example', hosts: [], dbName: 'shop' });
  expect(toSetupError(cluster, new MongoError('no'))).toMatchObject({
    message: 'MongoDB at cluster.example, database "shop": no',
  });
});

it.each([new TypeError('a bug'), { code: 7 }, undefined])('passes on what is no such error: %s', (error) => {
  expect(toSetupError(client, error)).toBe(error);
});

it.skipIf(mongo === undefined)(`connects again when a connection takes too long${leftOut}`, async () => {
  const url = mongo!.url('petstore');
  const proxy = await new TcpProxy(addressOf(url)).listen();
  onTestFinished(() => proxy.close());
  const events: ConnectionEvent[] = [];
  const meter = {
    idsAllocated: () => {},
    insertsCommitted: () => {},
    connection(event: ConnectionEvent) {
      events.push(event);
      if (events.length === 1) proxy.stall();
      if (event === 'refused') proxy.resume();
    },
  };

  const slow = withOptions(throughPort(url, proxy.port), { waitQueueTimeoutMS: 100 });
  const connected = await connect(slow, {}, meter);
  onTestFinished(() => connected.close());

  expect(events).toContain('refused');
  expect(await connected.db().command({ ping: 1 })).toMatchObject({ ok: 1 });
});
