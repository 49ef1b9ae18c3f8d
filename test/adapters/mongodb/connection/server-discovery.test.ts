import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from '../../../../src/adapters/mongodb/connection/connect.ts';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive, openMongoStorage } from '../../../../src/adapters/mongodb/open.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent } from '../../../../src/application/ports/storage-health.ts';
import { failPoint } from '../../../support/fail-point.ts';
import { addressOf, withOptions } from '../../../support/mongo-database.ts';
import { type MongodProcess, startMongodProcess } from '../../../support/mongod-process.ts';
import { leftOut, mongo } from '../../../support/shared-mongo.ts';

/** The line that the operator sees. */
async function refusal(url: string): Promise<{ line: string }> {
  const error = await openMongoStorage(url, { autoMigrate: false }).then(
    ({ close }) => close(),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageSetupError)) throw new Error('should have been refused', { cause: error });
  expect(error.message).not.toMatch(/\n|secret|tom/);
  return { line: error.message };
}

/** Time for one connection attempt on a busy machine. */
const PATIENCE_MS = 1_000;
/** What is refused at once does not wait for it. */
const FOREVER = { serverSelectionTimeoutMS: '100000000' };

const urlOf = (hosts: string, query: Record<string, string | boolean>) =>
  withOptions(`mongodb://${hosts}/petstore`, query);

describe('a MongoDB that cannot be reached', () => {
  it.each([
    ['a closed port', {}, () => {}, 'connect ECONNREFUSED ADDRESS'],
    [
      'a silent server',
      { connectTimeoutMS: '300' },
      () => {},
      'it does not answer within 300 ms; is it a MongoDB server?',
    ],
    [
      'a web server',
      {},
      (socket: Socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
      'it closes the connection without an answer; is it a MongoDB server without TLS?',
    ],
    [
      'a server of another protocol that speaks first',
      {},
      (socket: Socket) => socket.end(Buffer.from([21, 0, 0, 0, ...Array.from({ length: 17 }, () => 10)])),
      'it does not speak the MongoDB protocol',
    ],
    [
      'a web server instead of TLS',
      { tls: true },
      (socket: Socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
      'it does not speak TLS, which the connection string asks for',
    ],
  ])('is described: %s', async (what, options, serve, reason) => {
    const server = await listening(serve);
    if (what === 'a closed port') await server.close();
    const address = `127.0.0.1:${server.port}`;
    const url = urlOf(`tom:secret@${address}`, {
      serverSelectionTimeoutMS: `${PATIENCE_MS}`,
      ...options,
    });

    const line =
      `MongoDB at ${address}, database "petstore": no primary: ${address} cannot be used: ` +
      reason.replace('ADDRESS', address);
    await Promise.all([
      expect(openMongoStorage(url, { autoMigrate: false })).rejects.toThrow(new StorageSetupError(line)),
      expect(migrate(url)).rejects.toThrow(new StorageSetupError(line)),
      expect(openMongoArchive(url)).rejects.toThrow(new StorageSetupError(line)),
    ]);
    expect(line).not.toMatch(/secret|tom/);
  });

  it('is described by all its hosts if none of them resolves', async () => {
    const { line } = await refusal(
      urlOf('one.invalid,two.invalid', { replicaSet: 'rs0', serverSelectionTimeoutMS: `${PATIENCE_MS}` }),
    );

    expect(line).toMatch(
      /^MongoDB at one\.invalid:27017, two\.invalid:27017, database "petstore": no primary: [^;]+; [^;]+$/,
    );
    for (const host of ['one.invalid', 'two.invalid']) {
      expect(line).toContain(`${host}:27017 cannot be used: getaddrinfo `);
    }
  });
});

describe.skipIf(mongo === undefined)(`a MongoDB that does not fit the connection string${leftOut}`, () => {
  const address = () => {
    const { host, port } = addressOf(mongo!.url('petstore'));
    return `${host}:${port}`;
  };

  it.each([{}, { directConnection: true }])(
    'is refused at once for the name of its replica set: %o',
    async (options) => {
      const { line } = await refusal(urlOf(address(), { ...FOREVER, replicaSet: 'rs0', ...options }));

      expect(line).toMatch(
        new RegExp(
          '^MongoDB at \\S+, database "petstore": no suitable server: \\S+ is the primary of the replica set "\\w+", ' +
            'but the connection string asks for replicaSet=rs0$',
        ),
      );
    },
  );

  it('is refused when it does not speak TLS', async () => {
    const { line } = await refusal(
      urlOf(address(), { tls: true, serverSelectionTimeoutMS: `${PATIENCE_MS}` }),
    );

    expect(line).toMatch(
      /no primary: \S+ cannot be used: it does not speak TLS, which the connection string asks for$/,
    );
  });

  it('is refused when it does not know the user', async () => {
    const { line } = await refusal(urlOf(`tom:secret@${address()}`, { ...FOREVER, directConnection: true }));

    expect(line).toMatch(/^MongoDB at \S+, database "petstore": Authentication failed/);
  });
});

const none = mongo?.kind !== 'process';

describe.skipIf(none)(`a MongoDB with several servers${none ? ' (left out: no mongod process)' : ''}`, () => {
  let primary: MongodProcess;
  let secondary: MongodProcess;
  let standalone: MongodProcess;

  beforeAll(async () => {
    primary = await startMongodProcess(['--replSet', 'pair', '--setParameter', 'enableTestCommands=1']);
    secondary = await startMongodProcess(['--replSet', 'pair']);
    standalone = await startMongodProcess();
    const admin = new MongoClient(`mongodb://127.0.0.1:${primary.port}/?directConnection=true`);
    await admin.db('admin').command({
      replSetInitiate: {
        _id: 'pair',
        members: [
          { _id: 0, host: `127.0.0.1:${primary.port}` },
          { _id: 1, host: `127.0.0.1:${secondary.port}`, priority: 0, votes: 0 },
        ],
        settings: { electionTimeoutMillis: 1000, heartbeatIntervalMillis: 200 },
      },
    });
    await becomes(admin, 'isWritablePrimary');
    await admin.close();
    const second = new MongoClient(`mongodb://127.0.0.1:${secondary.port}/?directConnection=true`);
    await becomes(second, 'secondary');
    await second.close();
  });
  afterAll(async () => {
    for (const server of [primary, secondary, standalone]) await server?.stop();
  });

  it('is refused at once when a direct connection leads to a secondary', async () => {
    const { line } = await refusal(
      urlOf(`127.0.0.1:${secondary.port}`, { ...FOREVER, directConnection: true }),
    );

    expect(line).toBe(
      `MongoDB at 127.0.0.1:${secondary.port}, database "petstore": directConnection=true, but it is not the primary ` +
        `of the replica set "pair" (that is 127.0.0.1:${primary.port}); use replicaSet=pair instead`,
    );
  });

  it('is waited for by a direct connection while the replica set has no primary', async () => {
    const direct = { directConnection: true };
    const host = `127.0.0.1:${primary.port}`;
    const admin = new MongoClient(urlOf(host, direct));
    onTestFinished(() => admin.close());
    await admin.db('admin').command({ replSetStepDown: 60, secondaryCatchUpPeriodSecs: 0, force: true });

    const { line } = await refusal(urlOf(host, { ...direct, serverSelectionTimeoutMS: `${PATIENCE_MS}` }));
    const connecting = connect(urlOf(host, direct));
    await admin.db('admin').command({ replSetFreeze: 0 });
    const connected = await connecting;
    onTestFinished(() => connected.close());

    expect(line).toBe(
      `MongoDB at ${host}, database "petstore": directConnection=true, but it is not the primary ` +
        'of the replica set "pair" (there is none); use replicaSet=pair instead',
    );
    expect(await connected.db().command({ hello: 1 })).toMatchObject({ isWritablePrimary: true });
  });

  it('is waited for by a direct connection while it is elected, but takes no writes yet', async () => {
    const host = `127.0.0.1:${primary.port}`;
    const url = urlOf(host, { directConnection: true });
    const client = new MongoClient(url);
    onTestFinished(() => client.close());
    const admin = client.db('admin');
    const disable = await failPoint(admin, 'hangBeforeRSTLOnDrainComplete', 'alwaysOn');
    await admin.command({ replSetStepDown: 60, secondaryCatchUpPeriodSecs: 0, force: true });
    await admin.command({ replSetFreeze: 0 });
    const elected = { primary: host, me: host, isWritablePrimary: false };
    await expect.poll(() => admin.command({ hello: 1 })).toMatchObject(elected);

    let answers = 0;
    const meter = {
      insertsCommitted: () => {},
      connection(event: ConnectionEvent) {
        if (event === 'returned' && ++answers === 3) void disable();
      },
    };
    const connected = await connect(url, {}, { meter });
    onTestFinished(() => connected.close());

    expect(await connected.db().command({ hello: 1 })).toMatchObject({ isWritablePrimary: true });
  });

  it.each([{}, { directConnection: true }])(
    'is refused at once when it is standalone instead of a replica set: %o',
    async (options) => {
      const host = `127.0.0.1:${standalone.port}`;
      const { line } = await refusal(urlOf(host, { ...FOREVER, replicaSet: 'pair', ...options }));

      expect(line).toBe(
        `MongoDB at ${host}, database "petstore": no suitable server: ${host} is a standalone server, ` +
          'but the connection string asks for replicaSet=pair',
      );
    },
  );

  it('is described host by host', async () => {
    const hosts = [secondary, standalone].map(({ port }) => `127.0.0.1:${port}`);
    const { line } = await refusal(
      urlOf(hosts.join(','), { replicaSet: 'other', serverSelectionTimeoutMS: `${PATIENCE_MS}` }),
    );

    expect(line).toContain(
      `127.0.0.1:${secondary.port} is a secondary of the replica set "pair", ` +
        'but the connection string asks for replicaSet=other',
    );
    expect(line).toContain(`127.0.0.1:${standalone.port} is a standalone server, but`);
  });

  it('is found from a secondary', async () => {
    await migrate(urlOf(`127.0.0.1:${secondary.port}`, { replicaSet: 'pair' }));
    const url = urlOf(`127.0.0.1:${secondary.port}`, {});
    const { probe, close } = await openMongoStorage(url, { autoMigrate: false });
    onTestFinished(close);

    await expect(probe.check()).resolves.toStrictEqual({ lastId: 0n });
  });
});

async function becomes(member: MongoClient, state: 'isWritablePrimary' | 'secondary'): Promise<void> {
  const hello = () => member.db('admin').command({ hello: 1 });
  await vi.waitUntil(async () => (await hello())[state] as boolean, { timeout: 120_000 });
}

async function listening(serve: (socket: Socket) => unknown) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    // The client may close the connection at any time.
    socket.on('error', () => {});
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    for (const socket of sockets) socket.destroy();
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  onTestFinished(close);
  return { port, close };
}
