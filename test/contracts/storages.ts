import { rename } from 'node:fs/promises';
import { describe } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { memoryStorage } from '../../src/adapters/memory/storage.ts';
import { MongoApiKeyRepository } from '../../src/adapters/mongodb/api-key-repository.ts';
import { ConfirmedReads } from '../../src/adapters/mongodb/confirmed-reads.ts';
import { openMongoArchive, openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { MongoPetRepository } from '../../src/adapters/mongodb/pet-repository.ts';
import { mongodbStorage } from '../../src/adapters/mongodb/storage.ts';
import { BUSY_TIMEOUT_MS } from '../../src/adapters/sqlite/errors.ts';
import { openSqliteStorage } from '../../src/adapters/sqlite/open.ts';
import { SqlitePetRepository } from '../../src/adapters/sqlite/pet-repository.ts';
import { ReadCache } from '../../src/adapters/sqlite/read-cache.ts';
import { sqliteStorage } from '../../src/adapters/sqlite/storage.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import type { PetArchive } from '../../src/application/ports/pet-archive.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import type { StorageHost } from '../../src/application/ports/storage-health.ts';
import type { StorageKind } from '../../src/application/ports/storage-kind.ts';
import { fakeClock } from '../support/fake-clock.ts';
import {
  databasePool,
  freshDatabase,
  openClient,
  openService as openMongoService,
  throughProxy,
} from '../support/mongo-database.ts';
import { noMongo, mongo } from '../support/shared-mongo.ts';
import {
  closeAfterTest,
  newCommitQueue,
  newDatabase,
  newPath,
  openKeys,
  openService as openSqliteService,
  otherConnection,
  silentHost,
} from '../support/sqlite.ts';
import type { Processes, Store } from './model.ts';

export type Keys = { readonly keys: ApiKeyRepository };
export type Ports = Keys & { readonly pets: PetRepository; readonly archive: PetArchive };

export type TestedStorage = {
  readonly kind: StorageKind;
  /** Why the tests with this storage are skipped. Absent if the tests run. */
  readonly skipReason?: string;
  /** How many sequences of random calls `npm test` tries. */
  readonly runs: number;
  /** How many services can have one store open. */
  readonly services: Processes;
  /** How many processes (services and commands) can have the API keys of one store open. */
  readonly keyHolders: Processes;
  /** Creates a new, empty store. The call may delete the store of the previous call. */
  create(): Promise<Store<Ports> & { readonly url: string; openKeys: Store<Keys>['open'] }>;
  /** For each failure: opens a service whose storage can fail in this way, or the reason why the storage cannot. */
  readonly failures: Readonly<Record<'answers nothing' | 'is gone', OpenFailing | string>>;
  /** `true` if a service reports its inserts to a meter, or the reason why it does not. */
  readonly isMetered: true | string;
  /** Opens an empty store that stops one insert while other inserts continue, or the reason why this is impossible. */
  readonly holdInsert: (() => Promise<HeldStore>) | string;
};

export type HeldStore = {
  /** The repository whose first insert stops until the test lets it continue. */
  readonly slow: PetRepository;
  /** The repository of another service, if several services can have the store open. Otherwise `slow`. */
  readonly other: PetRepository;
  /** Resolves when the first insert of `slow` has been stopped, with a function that lets the insert continue. */
  readonly insertHeld: Promise<() => void>;
};

export type OpenFailing = (log: StorageHost) => Promise<Failing>;

/** A service whose storage fails between `begin` and `end`. Its calls reject after a short time. */
export type Failing = Keys & {
  readonly pets: PetRepository;
  begin(): unknown;
  /** Moves the clock to the end of the time that a call may take. Absent if that time is short. */
  timeOut?(): void;
  end(): unknown;
  /** Whether the service logs one line when the failure begins, and one when it ends. */
  readonly logs: boolean;
};

/** Returns every storage with its abilities. Call this function once per test file. */
export function testedStorages(): readonly TestedStorage[] {
  const emptyDatabase = databasePool(() => mongo!);
  return [
    {
      kind: memoryStorage,
      runs: 70,
      services: 'one',
      keyHolders: 'one',
      async create() {
        const pets = new InMemoryPetRepository();
        const ports = { pets, archive: pets, keys: new InMemoryApiKeyRepository() };
        return { url: 'memory:', open: async () => ports, openKeys: async () => ports };
      },
      failures: { 'answers nothing': IN_PROCESS, 'is gone': IN_PROCESS },
      isMetered: 'nothing is committed',
      holdInsert: 'it inserts a pet in one step',
    },
    {
      kind: sqliteStorage,
      runs: 16,
      services: 'one after another',
      keyHolders: 'many',
      async create() {
        const file = await newPath();
        return {
          url: `sqlite:${file}`,
          open: () => openSqliteStorage(file, silentHost),
          openKeys: () => openKeys(file),
        };
      },
      failures: { 'answers nothing': openLocked, 'is gone': openMoved },
      isMetered: true,
      holdInsert: openWithHeldFlush,
    },
    {
      kind: mongodbStorage('petstore'),
      ...(mongo === undefined && { skipReason: noMongo }),
      runs: 9,
      services: 'many',
      keyHolders: 'many',
      async create() {
        const { url } = await emptyDatabase();
        return {
          url,
          open: () => openMongoStorage(url, { autoMigrate: false }),
          openKeys: () => openMongoArchive(url),
        };
      },
      failures: { 'answers nothing': openThrough('stalls'), 'is gone': openThrough('is cut') },
      isMetered: true,
      holdInsert: openWithHeldCommand,
    },
  ];
}

const IN_PROCESS = 'it is in the memory of the process';

/** From `begin` to `end`, another program has the write lock of the database. */
async function openLocked(log: StorageHost): Promise<Failing> {
  const file = await newPath();
  const service = await openSqliteService(file, log);
  const other = otherConnection(file);
  const clock = fakeClock();
  return {
    ...service,
    begin: () => other.exec('BEGIN IMMEDIATE'),
    timeOut: () => clock.advance(BUSY_TIMEOUT_MS),
    end: () => other.exec('COMMIT'),
    logs: false,
  };
}

/** `begin` moves the database file away, and `end` moves it back. */
async function openMoved(log: StorageHost): Promise<Failing> {
  const file = await newPath();
  const service = await openSqliteService(file, log);
  const away = `${file}.away`;
  return { ...service, begin: () => rename(file, away), end: () => rename(away, file), logs: true };
}

/** The connection to the server goes through a proxy, which stalls or is closed from `begin` to `end`. */
function openThrough(failure: 'stalls' | 'is cut'): OpenFailing {
  return async (log) => {
    const timeoutMs = 500;
    const { url } = await freshDatabase(mongo!);
    const { url: proxied, proxy } = await throughProxy(url);
    const { port } = proxy;
    const { db } = await openClient(proxied);
    const reads = new ConfirmedReads(db, log);
    const pets = new MongoPetRepository(db, reads, { timeoutMs });
    const keys = new MongoApiKeyRepository(db, reads, timeoutMs);
    const stall = { begin: () => proxy.stall(), end: () => proxy.resume(), logs: false };
    const cut = { begin: () => proxy.close(), end: () => proxy.listen(port), logs: true };
    return { pets, keys, ...(failure === 'stalls' ? stall : cut) };
  };
}

/** The stopped insert is committed, and waits for its flush to the disk. */
async function openWithHeldFlush(): Promise<HeldStore> {
  const { db } = await newDatabase();
  const { promise: insertHeld, resolve } = Promise.withResolvers<() => void>();
  let flushes = 0;
  const flush = async () => {
    if (flushes++ === 0) await new Promise<void>(resolve);
  };
  const commits = newCommitQueue(db, { disk: { flush, checkpointIfDue: async () => {} } });
  const pets = new SqlitePetRepository(db, commits, new ReadCache(db));
  return { slow: pets, other: pets, insertHeld };
}

/** The stopped insert has been assigned its id. A proxy holds the command before it reaches the server. */
async function openWithHeldCommand(): Promise<HeldStore> {
  const { url } = await freshDatabase(mongo!);
  const { url: proxied, proxy } = await throughProxy(url);
  const [{ pets: slow }, { pets: other }] = [await openMongoService(proxied), await openMongoService(url)];
  return { slow, other, insertHeld: proxy.hold('insert') };
}

/** Creates a store and opens a service on it, until the end of the test. */
export async function openStore(storage: TestedStorage) {
  const store = await storage.create();
  const openAnother = () => closeAfterTest(store.open());
  return {
    ...(await openAnother()),
    url: store.url,
    openAnother,
    /** Opens the keys as a command does while the service runs. */
    openKeys: async () => (await closeAfterTest(store.openKeys())).keys,
  };
}

/** Returns the end of a test's title: the reason why the test is skipped, or nothing. The test reporter prints it. */
export const skipNote = (reason: unknown) => (typeof reason === 'string' ? ` (skipped: ${reason})` : '');

/** Runs the contracts of a port with every storage. */
export function overStorages(
  port: string,
  ...contracts: readonly ((storage: TestedStorage) => void)[]
): void {
  for (const storage of testedStorages()) {
    const { kind, skipReason: reason } = storage;
    describe.skipIf(reason !== undefined)(`${port}: ${kind.name}${reason ?? ''}`, () => {
      for (const contract of contracts) contract(storage);
    });
  }
}
