import { createServer, type Socket } from 'node:net';
import { BSON, type Document, type MongoClient, MongoError, MongoServerError } from 'mongodb';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect, toSetupError } from '../../../../src/adapters/mongodb/connection/connect.ts';
import { migrate } from '../../../../src/adapters/mongodb/migrate.ts';
import { openMongoArchive } from '../../../../src/adapters/mongodb/open.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import type { ConnectionEvent } from '../../../../src/application/ports/storage-health.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { openService, setupErrorOf, throughProxy } from '../../../support/mongo-database.ts';
import { listenOnLoopback } from '../../../support/on-loopback.ts';
import { noMongo, mongo } from '../../../support/shared-mongo.ts';

const clientOf = (options: object) => ({ options }) as unknown as MongoClient;
const hosts = { hosts: ['one:1', 'two:2'], dbName: 'shop' };
const client = clientOf({ ...hosts, credentials: { source: 'admin' } });
const SERVER = 'MongoDB at one:1, two:2, database "shop":';

it.each<readonly [MongoClient, Error, string]>([
  [client, new MongoError('no connection'), `${SERVER} no connection`],
  [
    clientOf({ srvHost: 'cluster.example', hosts: [], dbName: 'shop' }),
    new MongoError('no connection'),
    'MongoDB at cluster.example, database "shop": no connection',
  ],
  [
    client,
    Object.assign(new Error('getaddrinfo ENOTFOUND one'), { code: 'ENOTFOUND' }),
    `${SERVER} getaddrinfo ENOTFOUND one`,
  ],
  [
    client,
    new MongoServerError({ code: 13, message: 'not authorized on shop to execute command { find: "pets" }' }),
    `${SERVER} Unauthorized (13); the service needs the role readWrite, and petstore migrate also needs dbAdmin`,
  ],
  // The error of MongoDB Atlas for a wrong password.
  [
    client,
    new MongoServerError({ code: 8000, codeName: 'AtlasError', message: 'bad auth : me' }),
    `${SERVER} AtlasError (8000): wrong password, or no such user in the database "admin"; ` +
      'authSource names the database that has the user, often admin',
  ],
])('toSetupError makes one line for the operator: $2', (failedClient, error, line) => {
  expect(toSetupError(failedClient, error)).toStrictEqual(new StorageSetupError(line));
});

it.each([new TypeError('a bug'), { code: 7 }, undefined])(
  'toSetupError returns an error unchanged if neither the driver nor the system threw it: %s',
  (error) => {
    expect(toSetupError(client, error)).toBe(error);
  },
);

/** A limit of 28 hours, which no test reaches: an unusable server is refused immediately. */
const FOREVER = 'serverSelectionTimeoutMS=100000000';

/**
 * Starts a TCP server. Returns its address.
 *
 * @param openSockets the function adds every open socket to this set, and removes every closed socket
 */
async function listen(serve: (socket: Socket) => unknown, openSockets = new Set<Socket>()): Promise<string> {
  const server = createServer((socket) => {
    openSockets.add(socket);
    socket.on('close', () => openSockets.delete(socket));
    // The client may close the connection at any time.
    socket.on('error', () => {});
    serve(socket);
  });
  onTestFinished(() => {
    for (const socket of openSockets) socket.destroy();
  });
  return `127.0.0.1:${await listenOnLoopback(server)}`;
}

/**
 * Answers every command of a connection as a MongoDB server in this state answers `hello`. The format of the messages:
 * https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
 */
function answerWith(state: () => Document) {
  const OPCODES = { query: 2004, reply: 1, msg: 2013 };
  return (socket: Socket) => {
    let receivedBytes = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      receivedBytes = Buffer.concat([receivedBytes, bytes]);
      while (receivedBytes.length >= 4 && receivedBytes.length >= receivedBytes.readInt32LE()) {
        const hello = BSON.serialize({ ok: 1, minWireVersion: 0, maxWireVersion: 21, ...state() });
        // The first message of a connection has the old form of a query, which old servers understand.
        const isQuery = receivedBytes.readInt32LE(12) === OPCODES.query;
        const header = Buffer.alloc(isQuery ? 36 : 21);
        header.writeInt32LE(header.length + hello.length);
        header.writeInt32LE(receivedBytes.readInt32LE(4), 8);
        header.writeInt32LE(isQuery ? OPCODES.reply : OPCODES.msg, 12);
        // The number of documents in the reply.
        if (isQuery) header.writeInt32LE(1, 32);
        socket.write(Buffer.concat([header, hello]));
        receivedBytes = receivedBytes.subarray(receivedBytes.readInt32LE());
      }
    });
  };
}

const ADVICE = 'check the hosts, replicaSet and tls in the URL';
const MEMBER = { setName: 'pair', me: 'one:1' };

it.each<readonly [string, Document, number]>([
  ['no warning about a standalone server of version 7.0', { maxWireVersion: 21 }, 0],
  ['one warning about a standalone server of version 8.0', { maxWireVersion: 25 }, 1],
  ['one warning about a standalone server of a later version', { maxWireVersion: 29 }, 1],
  ['no warning about a member of a replica set of version 8.0', { ...MEMBER, maxWireVersion: 25 }, 0],
])('connect warns of servers that can lose acknowledged pets: it logs %s', async (_, state, warningCount) => {
  const address = await listen(answerWith(() => ({ isWritablePrimary: true, ...state })));
  const warnings: string[] = [];
  const log = { warn: (line: string) => void warnings.push(line) };
  const connectedClient = await connect(`mongodb://${address}/shop?directConnection=true`, {}, { log });
  onTestFinished(() => connectedClient.close());

  expect(warnings).toStrictEqual(
    Array.from(
      { length: warningCount },
      () =>
        `MongoDB at ${address}, database "shop" is a standalone server of version 8.0 or later, which can lose ` +
        'acknowledged pets when it is killed; use a replica set of three members: ' +
        'https://jira.mongodb.org/browse/SERVER-139311',
    ),
  );
});

it.each<readonly [Document, string, string]>([
  [
    { isWritablePrimary: true, msg: 'isdbgrid' },
    '',
    ' is a mongos; petstore needs a replica set without sharding',
  ],
  [
    { ...MEMBER, secondary: true, primary: 'two:2' },
    'directConnection=true',
    ': directConnection=true, but it is not the primary of the replica set "pair" (that is two:2); ' +
      'use replicaSet=pair instead',
  ],
  [{ isWritablePrimary: true }, 'replicaSet=pair', `: no server fits; ${ADVICE}`],
  [
    { ...MEMBER, isWritablePrimary: true },
    'replicaSet=rs0&directConnection=true',
    `: no server fits; ${ADVICE}`,
  ],
])(
  'a server that is not a usable primary is refused, and its connection is closed immediately: %o',
  { timeout: 20_000 },
  async (state, query, problem) => {
    const openSockets = new Set<Socket>();
    const serve = answerWith(() => state);
    const address = await listen(serve, openSockets);

    await expect(connect(`mongodb://${address}/shop?${FOREVER}&${query}`)).rejects.toThrow(
      new StorageSetupError(`MongoDB at ${address}, database "shop"${problem}`),
    );
    await expect.poll(() => openSockets.size).toBe(0);
  },
);

it.each<readonly [string, Document]>([
  ['of a replica set without a primary', { ...MEMBER, secondary: true }],
  ['that has been elected, but accepts no writes yet', { ...MEMBER, secondary: true, primary: 'one:1' }],
])('a direct connection waits for a member %s', async (_, stateBefore) => {
  let answers = 0;
  const stateAfter = { ...MEMBER, isWritablePrimary: true, primary: 'one:1' };
  const address = await listen(answerWith(() => (++answers < 6 ? stateBefore : stateAfter)));
  const connectedClient = await connect(`mongodb://${address}/shop?directConnection=true&${FOREVER}`);
  onTestFinished(() => connectedClient.close());

  expect(answers).toBeGreaterThanOrEqual(6);
});

it('a direct connection waits for at most serverSelectionTimeoutMS until its member is the primary', async () => {
  const { advance } = fakeClock();
  const state = () => {
    advance(600);
    return { ...MEMBER, secondary: true };
  };
  const address = await listen(answerWith(state));
  const url = `mongodb://${address}/shop?directConnection=true&serverSelectionTimeoutMS=1000`;

  await expect(connect(url)).rejects.toThrow('of the replica set "pair" (there is none)');
});

const answerBadRequest = (socket: Socket) => {
  socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
};

/** The options of the URL, the behaviour of the server, and the reason in the error. */
const FOREIGN_SERVERS: readonly (readonly [string, (socket: Socket) => unknown, RegExp])[] = [
  ['connectTimeoutMS=300', () => {}, /^connection <monitor> to \S+ timed out$/],
  ['', answerBadRequest, /^connection <monitor> to \S+ closed$/],
  ['tls=true', answerBadRequest, /^ERR_SSL_WRONG_VERSION_NUMBER$/],
];

it('each function that opens a database refuses a server that is not MongoDB, and names it without the password', async () => {
  const refusals = FOREIGN_SERVERS.map(async ([query, serve, reason]) => {
    const address = await listen(serve);
    const url = `mongodb://tom:secret@${address}/shop?serverSelectionTimeoutMS=1000&${query}`;
    const [before, after] = [
      `MongoDB at ${address}, database "shop": no primary; members: ${address}: `,
      `; ${ADVICE}`,
    ];
    for (const open of [openService, migrate, openMongoArchive]) {
      const message = await setupErrorOf(open(url));
      expect(message.startsWith(before) && message.endsWith(after)).toBe(true);
      expect(message.slice(before.length, -after.length)).toMatch(reason);
    }
  });
  await Promise.all(refusals);
});

it('connect rejects with each host and its error code, in one line, when no host can be reached', async () => {
  const url = 'mongodb://one.invalid,two.invalid/shop?replicaSet=rs0&serverSelectionTimeoutMS=1000';
  expect(await setupErrorOf(connect(url))).toMatch(
    /^MongoDB at one\.invalid:27017, two\.invalid:27017, database "shop": no primary; members: one\.invalid:27017: E[A-Z_]+, two\.invalid:27017: E[A-Z_]+; check the hosts, replicaSet and tls in the URL$/,
  );
});

it('connect logs after 2 s without an answer how long it continues to try, without the password', async () => {
  // Only the timers of the adapter are fake. The driver imports its timers from `node:timers`, so they stay real.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const host = await listen(() => {});
  const warnings: string[] = [];
  const log = { warn: (line: string) => void warnings.push(line) };
  const start = () =>
    Promise.allSettled([
      connect(`mongodb://me:secret@${host}/shop?serverSelectionTimeoutMS=100`, {}, { log }),
    ]);
  const rejection = [{ status: 'rejected', reason: expect.any(StorageSetupError) }];
  expect(await start()).toMatchObject(rejection);
  expect(vi.getTimerCount()).toBe(0);
  const slowStart = start();
  vi.advanceTimersByTime(1_999);
  expect(warnings).toStrictEqual([]);
  vi.advanceTimersByTime(1);

  expect(warnings).toStrictEqual([
    `MongoDB at ${host}, database "shop": no primary yet; still trying for up to 0.1 s`,
  ]);
  expect(await slowStart).toMatchObject(rejection);
});

describe.skipIf(mongo === undefined)(`a real MongoDB${noMongo}`, () => {
  const url = (query: string) => `${mongo!.url('petstore')}&${query}`;

  it.each([
    ['compressors=snappy,zlib', 'snappy'],
    ['authMechanism=MONGODB-AWS', '@aws-sdk/credential-providers'],
  ])('is not opened with an option whose module petstore does not have: %s', async (option, module) => {
    await expect(openService(url(option))).rejects.toThrow(
      `: an option of the URL needs the module ${module}, which petstore does not have: leave it out`,
    );
  });

  it('is not opened when it does not know the user, and the message has neither the user name nor the password', async () => {
    const withUser = url(FOREVER).replace('://', '://tom:secret@');
    const error = await openService(withUser).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(StorageSetupError);
    expect((error as Error).message).toMatch(
      /^MongoDB at \S+, database "petstore": AuthenticationFailed \(18\): .* in the database "petstore"; authSource names /,
    );
    expect((error as Error).message).not.toMatch(/secret|tom|\n/);
  });
});

describe.skipIf(mongo === undefined)(`a connection that takes too long${noMongo}`, () => {
  /** @param slowAttempts how many of the first attempts to connect take too long */
  async function connectSlowly(slowAttempts: number, onRefused = () => {}) {
    const options = { waitQueueTimeoutMS: 100, serverSelectionTimeoutMS: 2_000 };
    const { url, proxy } = await throughProxy(mongo!.url('petstore'), options);
    let refusedCount = 0;
    const meter = {
      insertsCommitted: () => {},
      log: () => {},
      connection(event: ConnectionEvent) {
        if (event === 'requested' && refusedCount < slowAttempts) proxy.stall();
        if (event !== 'refused') return;
        refusedCount++;
        onRefused();
        proxy.resume();
      },
    };
    const connecting = connect(url, {}, { meter });
    return { connecting, timesRefused: () => refusedCount };
  }

  it('is requested again', async () => {
    const { connecting, timesRefused } = await connectSlowly(1);
    const connectedClient = await connecting;
    onTestFinished(() => connectedClient.close());

    expect(timesRefused()).toBe(1);
    expect(await connectedClient.db().command({ ping: 1 })).toMatchObject({ ok: 1 });
  });

  it('is requested again until serverSelectionTimeoutMS has passed', async () => {
    const { advance } = fakeClock();
    const { connecting, timesRefused } = await connectSlowly(3, () => advance(1_500));

    await expect(connecting).rejects.toThrow(StorageSetupError);
    expect(timesRefused()).toBe(2);
  });
});
