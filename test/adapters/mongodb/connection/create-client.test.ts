import { expect, it } from 'vitest';
import { createClient } from '../../../../src/adapters/mongodb/connection/create-client.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';

/** The options that a connection string must not weaken. */
const GUARANTEES = {
  readConcern: { level: 'majority' },
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 5_000 },
  readPreference: { mode: 'primary' },
};

it('createClient uses the defaults of petstore if the connection string has no options', () => {
  const { options } = createClient('mongodb://h1,h2:27018/petstore');

  expect(options).toMatchObject({
    dbName: 'petstore',
    appName: 'petstore',
    maxPoolSize: 50,
    waitQueueTimeoutMS: 2_000,
    serverSelectionTimeoutMS: 25_000,
    connectTimeoutMS: 2_000,
    heartbeatFrequencyMS: 500,
    socketTimeoutMS: 8_000,
    retryReads: true,
    retryWrites: true,
    ...GUARANTEES,
  });
});

it.each([
  ['APPNAME=mine', { appName: 'mine' }],
  ['serverselectiontimeoutms=7', { serverSelectionTimeoutMS: 7 }],
  ['wtimeoutMS=7', { writeConcern: { w: 'majority', journal: true, wtimeoutMS: 7 } }],
  ['wtimeout=7', { writeConcern: { w: 'majority', journal: true, wtimeoutMS: 7 } }],
  ['w=majority&journal=true&readConcernLevel=majority&readPreference=primary', GUARANTEES],
  // A connection string cannot change these two options. `useBigInt64` would crash the process. `maxAdaptiveRetries`
  // would repeat inserts.
  ['useBigInt64=true', { useBigInt64: false }],
  ['maxAdaptiveRetries=2', { maxAdaptiveRetries: 0 }],
])('createClient applies only the safe options of a connection string: %s', (query, expected) => {
  expect(createClient(`mongodb://localhost/petstore?${query}`).options).toMatchObject(expected);
});

it.each([
  ['', { socketTimeoutMS: 0, appName: 'other', maxPoolSize: 50 }],
  ['?socketTimeoutMS=7', { socketTimeoutMS: 7, appName: 'other' }],
])(
  'options of the URL override those of the caller, which override the defaults of petstore: the URL ends with "%s"',
  (query, expected) => {
    const overrides = { socketTimeoutMS: 0, appName: 'other' };
    expect(createClient(`mongodb://localhost/petstore${query}`, overrides).options).toMatchObject(expected);
  },
);

it.each([
  'mongodb://localhost/petstore',
  'mongodb://tom:s%40crt@h1:27017,h2:27018,h3/petstore?replicaSet=rs0',
  'mongodb://[::1]:27017/petstore',
  'mongodb://%2Ftmp%2Fmongodb-27017.sock/petstore',
  'mongodb+srv://cluster.example.org/petstore',
])('createClient accepts the connection string %s', (url) => {
  expect(createClient(url).options.dbName).toBe('petstore');
});

const MESSAGE_START = 'the MongoDB connection string weakens a guarantee of petstore';

it.each([
  ['w=0', 'leave out w, or set it to majority'],
  ['journal=false', 'leave out journal, or set it to true'],
  ['j=false', 'leave out j, or set it to true'],
  ['fsync=false', 'leave out fsync, or set it to true'],
  ['readConcernLevel=local', 'leave out readConcernLevel, or set it to majority'],
  ['readpreference=primaryPreferred', 'leave out readPreference, or set it to primary'],
  [
    'readPreference=secondary&readPreferenceTags=dc:east&maxStalenessSeconds=120',
    'leave out readPreference, or set it to primary; leave out readPreferenceTags; leave out maxStalenessSeconds',
  ],
])('createClient refuses a connection string that weakens a guarantee: %s', (query, problem) => {
  expect(() => createClient(`mongodb://localhost/petstore?${query}`)).toThrow(
    new StorageSetupError(`${MESSAGE_START}: ${problem}`),
  );
});

it.each([
  ['postgres://localhost/petstore', /Invalid scheme/],
  ['mongodb:///petstore', /host/],
  ['mongodb://tom:secret@localhost/petstore?maxPoolSize=many', /maxPoolSize/i],
  ['mongodb://localhost/petstore?authMechanismProperties=SERVICE_NAME:qqqq&maxPoolSize=many', /maxPoolSize/],
  ['mongodb://[::1/petstore', /\[::1/],
  ['mongodb://localhost/petstore?colour=red', /colour is not supported/],
  ['mongodb://tom:cret/petstore', /: is the user name or the password not percent-encoded\?$/],
])('createClient refuses an unusable connection string with a reason in one line: %s', (url, reason) => {
  expect(() => createClient(url)).toThrow(StorageSetupError);
  expect(() => createClient(url)).toThrow(/^not a usable MongoDB connection string: [^\n]+$/);
  expect(() => createClient(url)).toThrow(reason);
});

it.each([
  // The test searches the message for `cret`, `tom` and `to m`, which are parts of the credentials.
  'mongodb://tom:se/cret@localhost/petstore',
  'mongodb://tom:se@cret@localhost/petstore',
  'mongodb://tom:se%zzcret@localhost/petstore',
  'mongodb://to m@:cret@localhost/petstore',
  'mongodb://se[cret:x@localhost/petstore',
  'mongodb://tom:cret@localhost:port:port/petstore',
  'mongodb://tom:cret@/petstore',
  'mongodb://tom:cret/petstore',
  'mongodb://12:34cret@localhost:port/petstore',
  'mongodb://tom:cret@localhost/pet%zzstore',
  'mongodb://localhost/petstore?proxyHost=h&proxyUsername=u&proxyPassword=cret&proxyPassword=cret',
  'mongodb://localhost/petstore?authMechanismProperties=AWS_SESSION_TOKEN:cret,cret',
  'mongodb://tom:cret@localhost/petstore?authMechanism=cret',
  'mongodb://tom:x@localhost/petstore?authMechanism=GSSAPI&authMechanismProperties=CANONICALIZE_HOST_NAME:cret',
])('createClient does not quote the credentials of a connection string that it refuses: %s', (url) => {
  const message = expect.not.stringMatching(/cret|tom|to m/);
  expect(() => createClient(url)).toThrow(StorageSetupError);
  expect(() => createClient(url)).toThrow(expect.objectContaining({ message }));
  expect(() => createClient(url)).toThrow(expect.not.objectContaining({ cause: expect.anything() }));
});
