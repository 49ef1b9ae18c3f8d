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
const location = { hosts: ['one:1', 'two:2'], dbName: 'shop' };
const client = clientOf({ ...location, credentials: { source: 'admin' } });
const MESSAGE_START = 'MongoDB at one:1, two:2, database "shop":';

it.each<readonly [MongoClient, Error, string]>([
  [client, new MongoError('no connection'), `${MESSAGE_START} no connection`],
  [
    clientOf({ srvHost: 'cluster.example', hosts: [], dbName: 'shop' }),
    new MongoError('no connection'),
    'MongoDB at cluster.example, database "shop": no connection',
  ],
  [
    client,
    Object.assign(new Error('getaddrinfo ENOTFOUND one'), { code: 'ENOTFOUND' }),
    `${MESSAGE_START} getaddrinfo ENOTFOUND one`,
  ],
  [
    client,
    new MongoServerError({ code: 13, message: 'not authorized on shop to execute command { find: "pets" }' }),
    `${MESSAGE_START} Unauthorized (13); the service needs the role readWrite, and petstore migrate also needs dbAdmin`,
  ],
  // MongoDB Atlas sends this error when a password is wrong.
  [
    client,
    new MongoServerError({ code: 8000, codeName: 'AtlasError', message: 'bad auth : me' }),
    `${MESSAGE_START} AtlasError (8000): wrong password, or no such user in the database "admin"; ` +
      'authSource names the database that has the user, often admin',
  ],
])('toSetupError returns an error that names the server and the problem: $2', (failedClient, error, line) => {
  expect(toSetupError(failedClient, error)).toStrictEqual(new StorageSetupError(line));
});

it.each([new TypeError('a bug'), { code: 7 }, undefined])(
  'toSetupError returns an error unchanged if it comes from neither the driver nor the system: %s',
  (error) => {
    expect(toSetupError(client, error)).toBe(error);
  },
);

/** Lets the driver wait for a usable server for 28 hours. No test waits so long. */
const NO_TIME_LIMIT = 'serverSelectionTimeoutMS=100000000';

/**
 * Starts a TCP server, which calls `serve` for each connection. Returns the address of the server.
 *
 * @param openSockets the set in which the server keeps its open sockets
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
 * Returns a function for {@link listen}, which answers every command as a MongoDB server in this state answers `hello`.
 * The format of the messages: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
 */
function answerWith(state: () => Document) {
  const OPCODES = { query: 2004, reply: 1, msg: 2013 };
  return (socket: Socket) => {
    let receivedBytes = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      receivedBytes = Buffer.concat([receivedBytes, bytes]);
      while (receivedBytes.length >= 4 && receivedBytes.length >= receivedBytes.readInt32LE()) {
        const hello = BSON.serialize({ ok: 1, minWireVersion: 0, maxWireVersion: 21, ...state() });
        // A client sends its first message in an old format, as a query, because all servers understand this format.
        const isQuery = receivedBytes.readInt32LE(12) === OPCODES.query;
        // The bytes before the document in a reply: 36 in the old format, 21 in the new format.
        const header = Buffer.alloc(isQuery ? 36 : 21);
        header.writeInt32LE(header.length + hello.length);
        header.writeInt32LE(receivedBytes.readInt32LE(4), 8);
        header.writeInt32LE(isQuery ? OPCODES.reply : OPCODES.msg, 12);
        // A reply in the old format has the number of its documents.
        if (isQuery) header.writeInt32LE(1, 32);
        socket.write(Buffer.concat([header, hello]));
        receivedBytes = receivedBytes.subarray(receivedBytes.readInt32LE());
      }
    });
  };
}

const ADVICE = 'check the hosts, replicaSet and tls in the URL';
/** Fields in the answer to `hello` of a member of a replica set. */
const MEMBER = { setName: 'pair', me: 'one:1' };

// A standalone server of version 8.0 or later can lose acknowledged pets, so `connect` must warn of this server. The
// wire version 21 means MongoDB 7.0, and the wire version 25 means MongoDB 8.0.
it.each<readonly [string, Document, number]>([
  ['no warning about a standalone server of version 7.0', { maxWireVersion: 21 }, 0],
  ['one warning about a standalone server of version 8.0', { maxWireVersion: 25 }, 1],
  ['one warning about a standalone server of a later version', { maxWireVersion: 29 }, 1],
  ['no warning about a member of a replica set of version 8.0', { ...MEMBER, maxWireVersion: 25 }, 0],
])('connect logs %s', async (_, state, warningCount) => {
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

/** The answer of the server to `hello`, the options of the URL, and the end of the message. */
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
  'connect immediately refuses a server that is not a usable primary, and closes its connections: %o',
  { timeout: 20_000 },
  async (state, query, problem) => {
    const openSockets = new Set<Socket>();
    const serve = answerWith(() => state);
    const address = await listen(serve, openSockets);

    await expect(connect(`mongodb://${address}/shop?${NO_TIME_LIMIT}&${query}`)).rejects.toThrow(
      new StorageSetupError(`MongoDB at ${address}, database "shop"${problem}`),
    );
    await expect.poll(() => openSockets.size).toBe(0);
  },
);

it.each<readonly [string, Document]>([
  ['its replica set has a primary', { ...MEMBER, secondary: true }],
  ['it accepts writes, if it has just been elected', { ...MEMBER, secondary: true, primary: 'one:1' }],
])('a direct connection to a member waits until %s', async (_, stateBefore) => {
  let answerCount = 0;
  const stateAfter = { ...MEMBER, isWritablePrimary: true, primary: 'one:1' };
  const address = await listen(answerWith(() => (++answerCount < 6 ? stateBefore : stateAfter)));
  const connectedClient = await connect(`mongodb://${address}/shop?directConnection=true&${NO_TIME_LIMIT}`);
  onTestFinished(() => connectedClient.close());

  expect(answerCount).toBeGreaterThanOrEqual(6);
});

it('a direct connection fails if its member does not become primary within serverSelectionTimeoutMS', async () => {
  const { advance } = fakeClock();
  const state = () => {
    // Each answer takes 600 ms.
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

/** Servers that are not MongoDB: the options of the URL, the function for `listen`, and the reason in the message. */
const FOREIGN_SERVERS: readonly (readonly [string, (socket: Socket) => unknown, RegExp])[] = [
  ['connectTimeoutMS=300', () => {}, /^connection <monitor> to \S+ timed out$/],
  ['', answerBadRequest, /^connection <monitor> to \S+ closed$/],
  ['tls=true', answerBadRequest, /^ERR_SSL_WRONG_VERSION_NUMBER$/],
];

it('each function that opens a database refuses a server that is not MongoDB, and hides the password', async () => {
  const refusals = FOREIGN_SERVERS.map(async ([query, serve, reason]) => {
    const address = await listen(serve);
    const url = `mongodb://tom:secret@${address}/shop?serverSelectionTimeoutMS=1000&${query}`;
    const [start, end] = [
      `MongoDB at ${address}, database "shop": no primary; members: ${address}: `,
      `; ${ADVICE}`,
    ];
    for (const open of [openService, migrate, openMongoArchive]) {
      const message = await setupErrorOf(open(url));
      expect(message.startsWith(start) && message.endsWith(end)).toBe(true);
      expect(message.slice(start.length, -end.length)).toMatch(reason);
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

it('after 2 s without an answer, connect logs for how long it will try, and does not log the password', async () => {
  // The fake timers replace the global functions, which the adapter calls. The timers of the driver stay real, because
  // the driver imports them from `node:timers`.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const host = await listen(() => {});
  const warnings: string[] = [];
  const log = { warn: (line: string) => void warnings.push(line) };
  const tryToConnect = () =>
    Promise.allSettled([
      connect(`mongodb://me:secret@${host}/shop?serverSelectionTimeoutMS=100`, {}, { log }),
    ]);
  const rejectedOutcome = [{ status: 'rejected', reason: expect.any(StorageSetupError) }];
  expect(await tryToConnect()).toMatchObject(rejectedOutcome);
  // The first attempt failed before 2 s had passed, and has stopped the timer of its warning.
  expect(vi.getTimerCount()).toBe(0);
  const slowAttempt = tryToConnect();
  vi.advanceTimersByTime(1_999);
  expect(warnings).toStrictEqual([]);
  vi.advanceTimersByTime(1);

  expect(warnings).toStrictEqual([
    `MongoDB at ${host}, database "shop": no primary yet; still trying for up to 0.1 s`,
  ]);
  expect(await slowAttempt).toMatchObject(rejectedOutcome);
});

describe.skipIf(mongo === undefined)(`openService with a real MongoDB${noMongo}`, () => {
  const url = (query: string) => `${mongo!.url('petstore')}&${query}`;

  it.each([
    ['compressors=snappy,zlib', 'snappy'],
    ['authMechanism=MONGODB-AWS', '@aws-sdk/credential-providers'],
  ])('refuses an option that needs a module that petstore does not have: %s', async (option, module) => {
    await expect(openService(url(option))).rejects.toThrow(
      `: an option of the URL needs the module ${module}, which petstore does not have: leave it out`,
    );
  });

  it('refuses a user that MongoDB does not know, and quotes neither the user name nor the password', async () => {
    const withUser = url(NO_TIME_LIMIT).replace('://', '://tom:secret@');
    const error = await openService(withUser).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(StorageSetupError);
    expect((error as Error).message).toMatch(
      /^MongoDB at \S+, database "petstore": AuthenticationFailed \(18\): .* in the database "petstore"; authSource names /,
    );
    expect((error as Error).message).not.toMatch(/secret|tom|\n/);
  });
});

describe.skipIf(mongo === undefined)(`connect through a slow proxy${noMongo}`, () => {
  /**
   * Connects through a proxy that forwards nothing during the first attempts. The driver ends such an attempt
   * after 100 ms.
   *
   * @param slowAttempts the number of these attempts
   */
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

  it('requests another connection after a slow attempt', async () => {
    const { connecting, timesRefused } = await connectSlowly(1);
    const connectedClient = await connecting;
    onTestFinished(() => connectedClient.close());

    expect(timesRefused()).toBe(1);
    expect(await connectedClient.db().command({ ping: 1 })).toMatchObject({ ok: 1 });
  });

  it('requests no further connection after serverSelectionTimeoutMS', async () => {
    const { advance } = fakeClock();
    const { connecting, timesRefused } = await connectSlowly(3, () => advance(1_500));

    await expect(connecting).rejects.toThrow(StorageSetupError);
    expect(timesRefused()).toBe(2);
  });
});
