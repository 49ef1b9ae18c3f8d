import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BSON, type MongoClient, MongoError } from 'mongodb';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, toSetupError } from '../../../../src/adapters/mongodb/connection/connect.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent } from '../../../../src/application/ports/storage-health.ts';
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

it('to a mongos is refused', async () => {
  const server = createServer(answerAsMongos).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;

  await expect(connect(`mongodb://${address}/shop`)).rejects.toThrow(
    new StorageSetupError(
      `MongoDB at ${address}, database "shop" is a mongos; petstore needs a replica set without sharding`,
    ),
  );
});

it('to a MongoDB that does not answer is told after two seconds, without the password', async () => {
  // Accepts connections.
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const warnings: string[] = [];
  const log = { warn: (line: string) => void warnings.push(line) };
  const start = (name: string, timeoutMs: number) =>
    connect(`mongodb://me:secret@${host}/${name}?serverSelectionTimeoutMS=${timeoutMs}`, {}, { log });
  const starts = await Promise.allSettled([start('early', 500), start('late', 2_500)]);

  expect(starts.map(({ status }) => status)).toStrictEqual(['rejected', 'rejected']);
  expect(warnings).toStrictEqual([`MongoDB at ${host}, database "late": no primary yet; still trying`]);
});

/** The format: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/ */
function answerAsMongos(socket: Socket): void {
  const OPCODES = { query: 2004, reply: 1, msg: 2013 };
  const role = { isWritablePrimary: true, msg: 'isdbgrid' };
  const hello = BSON.serialize({ ok: 1, ...role, minWireVersion: 0, maxWireVersion: 21 });
  // The client may close the connection at any time.
  socket.on('error', () => {});
  let received = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    while (received.length >= 4 && received.length >= received.readInt32LE()) {
      // The first message of a connection is a query, which older servers understand too.
      const isQuery = received.readInt32LE(12) === OPCODES.query;
      const header = Buffer.alloc(isQuery ? 36 : 21);
      header.writeInt32LE(header.length + hello.length);
      header.writeInt32LE(received.readInt32LE(4), 8);
      header.writeInt32LE(isQuery ? OPCODES.reply : OPCODES.msg, 12);
      // The number of documents.
      if (isQuery) header.writeInt32LE(1, 32);
      socket.write(Buffer.concat([header, hello]));
      received = received.subarray(received.readInt32LE());
    }
  });
}

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
    const connecting = connect(withOptions(throughPort(url, proxy.port), options), {}, { meter });
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
