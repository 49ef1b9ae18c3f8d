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
import { leftOut, mongo } from '../support/shared-mongo.ts';
import {
  closedAfterTest,
  commitsTo,
  newDatabase,
  newFile,
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
  /** Why the tests leave it out, if they do. */
  readonly leftOut?: string;
  /** How many sequences of random calls `npm test` tries. */
  readonly runs: number;
  /** Which services can have one store open. */
  readonly services: Processes;
  /** Which processes that manage keys can have one store open, a service among them. */
  readonly keyHolders: Processes;
  /** Creates a new, empty store. The one before is gone. */
  create(): Promise<Store<Ports> & { readonly url: string; openKeys: Store<Keys>['open'] }>;
  /** What can happen to the storage under a service, or why it cannot. */
  readonly failures: Readonly<Record<'answers nothing' | 'is gone', OpenFailing | string>>;
  /** Whether its service tells a meter of inserts, or why not. */
  readonly isMetered: true | string;
  /** Opens an empty store, one insert of which can be held open while others go on; or why that cannot happen. */
  readonly holdInsert: (() => Promise<HeldStore>) | string;
};

export type HeldStore = {
  readonly slow: PetRepository;
  /** Of another service, if several can have the store open. */
  readonly other: PetRepository;
  /** Resolves when the first insert of `slow` is under way and goes no further, with a function that lets it go on. */
  readonly release: Promise<() => void>;
};

export type OpenFailing = (log: StorageHost) => Promise<Failing>;

/** A service whose calls give up before long. */
export type Failing = Keys & {
  readonly pets: PetRepository;
  begin(): unknown;
  /** The time of a call is over. Absent when the calls are short. */
  timeOut?(): void;
  end(): unknown;
  /** Whether the log has a line for the failure and one for its end. */
  readonly logs: boolean;
};

/** Every storage, with what it can do. Call it once per file. */
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
        const file = await newFile();
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
      ...(mongo === undefined && { leftOut }),
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

/** Another program holds the lock for writes. */
async function openLocked(log: StorageHost): Promise<Failing> {
  const file = await newFile();
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

/** Another program moves the file away. */
async function openMoved(log: StorageHost): Promise<Failing> {
  const file = await newFile();
  const service = await openSqliteService(file, log);
  const away = `${file}.away`;
  return { ...service, begin: () => rename(file, away), end: () => rename(away, file), logs: true };
}

/** The connection to the server goes through a proxy. */
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

/** The insert is committed, and waits for the disk. */
async function openWithHeldFlush(): Promise<HeldStore> {
  const { db } = await newDatabase();
  const { promise: release, resolve } = Promise.withResolvers<() => void>();
  let flushes = 0;
  const flush = async () => {
    if (flushes++ === 0) await new Promise<void>(resolve);
  };
  const commits = commitsTo(db, { disk: { flush, checkpointIfDue: async () => {} } });
  const pets = new SqlitePetRepository(db, commits, new ReadCache(db));
  return { slow: pets, other: pets, release };
}

/** The insert has its id, and is on its way to the server. */
async function openWithHeldCommand(): Promise<HeldStore> {
  const { url } = await freshDatabase(mongo!);
  const { url: proxied, proxy } = await throughProxy(url);
  const [{ pets: slow }, { pets: other }] = [await openMongoService(proxied), await openMongoService(url)];
  return { slow, other, release: proxy.hold('insert') };
}

/** A new store that a service has open, until the end of the test. */
export async function opened(storage: TestedStorage) {
  const store = await storage.create();
  const openAnother = () => closedAfterTest(store.open());
  return {
    ...(await openAnother()),
    url: store.url,
    openAnother,
    /** As the command line does beside a service. */
    openKeys: async () => (await closedAfterTest(store.openKeys())).keys,
  };
}

/** What follows the title of a test that a storage may be excused from. The reporter of skipped tests prints it. */
export const unlessExcused = (excuse: unknown) => (typeof excuse === 'string' ? ` (skipped: ${excuse})` : '');

/** Runs the contracts of a port over every storage. */
export function overStorages(
  port: string,
  ...contracts: readonly ((storage: TestedStorage) => void)[]
): void {
  for (const storage of testedStorages()) {
    const { kind, leftOut: reason } = storage;
    describe.skipIf(reason !== undefined)(`${port}: ${kind.name}${reason ?? ''}`, () => {
      for (const contract of contracts) contract(storage);
    });
  }
}
