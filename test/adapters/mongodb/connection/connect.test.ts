import type { MongoClient } from 'mongodb';
import { MongoError } from 'mongodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, toSetupError } from '../../../../src/adapters/mongodb/connection/connect.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent } from '../../../../src/application/ports/storage-meter.ts';
import { addressOf, throughPort, withOptions } from '../../../support/mongo-database.ts';
import { leftOut, mongo } from '../../../support/shared-mongo.ts';
import { TcpProxy } from '../../../support/tcp-proxy.ts';

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

describe.skipIf(mongo === undefined)(`a connection that takes too long${leftOut}`, () => {
  /** @param attempts how many attempts to connect it takes too long in */
  async function slowIn(attempts: number) {
    const url = mongo!.url('petstore');
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(() => proxy.close());
    let refused = 0;
    const meter = {
      insertsCommitted: () => {},
      connection(event: ConnectionEvent) {
        if (event === 'requested' && refused < attempts) proxy.stall();
        if (event !== 'refused') return;
        refused++;
        proxy.resume();
      },
    };
    const options = { waitQueueTimeoutMS: 100, serverSelectionTimeoutMS: 2_000 };
    const connecting = connect(withOptions(throughPort(url, proxy.port), options), {}, meter);
    return { connecting, timesRefused: () => refused };
  }

  it('is asked for again', async () => {
    const { connecting, timesRefused } = await slowIn(1);
    const connected = await connecting;
    onTestFinished(() => connected.close());

    expect(timesRefused()).toBe(1);
    expect(await connected.db().command({ ping: 1 })).toMatchObject({ ok: 1 });
  });

  it('is asked for again until the time to select a server is over', async () => {
    const { connecting, timesRefused } = await slowIn(Infinity);

    await expect(connecting).rejects.toThrow(StorageSetupError);
    expect(timesRefused()).toBeGreaterThan(1);
  });
});
