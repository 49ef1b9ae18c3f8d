import { describe, onTestFinished } from 'vitest';
import { InMemoryApiKeyRepository } from '../../src/adapters/memory/api-key-repository.ts';
import { InMemoryPetRepository } from '../../src/adapters/memory/pet-repository.ts';
import { openMongoArchive, openMongoStorage } from '../../src/adapters/mongodb/open.ts';
import { openSqliteKeys, openSqliteStorage } from '../../src/adapters/sqlite/open.ts';
import type { ApiKeyRepository } from '../../src/application/ports/api-key-repository.ts';
import type { PetArchive } from '../../src/application/ports/pet-archive.ts';
import type { PetRepository } from '../../src/application/ports/pet-repository.ts';
import { databaseForRuns } from '../support/mongo-database.ts';
import { leftOut, mongo } from '../support/shared-mongo.ts';
import { newFile, silentLog } from '../support/sqlite.ts';
import type { Processes, Store } from './model.ts';

export type Keys = { readonly keys: ApiKeyRepository };
export type Ports = Keys & { readonly pets: PetRepository; readonly archive: PetArchive };

export type TestedStorage = {
  readonly name: string;
  readonly isLeftOut?: boolean;
  /** How many sequences of random calls `npm test` tries. */
  readonly runs: number;
  /** Which services can have one store open. */
  readonly services: Processes;
  /** Which processes that manage keys can have one store open, a service among them. */
  readonly keyHolders: Processes;
  /** Creates a new, empty store. The one before is gone. */
  create(): Promise<Store<Ports> & { openKeys: Store<Keys>['open'] }>;
};

/** Every storage, with what it can do. Call it once a file. */
function testedStorages(): readonly TestedStorage[] {
  const emptyDatabase = databaseForRuns(() => mongo!);
  return [
    {
      name: 'memory',
      runs: 70,
      services: 'one',
      keyHolders: 'one',
      async create() {
        const pets = new InMemoryPetRepository();
        const ports = { pets, archive: pets, keys: new InMemoryApiKeyRepository() };
        return { open: async () => ports, openKeys: async () => ports };
      },
    },
    {
      name: 'SQLite',
      runs: 16,
      services: 'one after another',
      keyHolders: 'many',
      async create() {
        const file = await newFile();
        return { open: () => openSqliteStorage(file, silentLog), openKeys: () => openSqliteKeys(file) };
      },
    },
    {
      name: `MongoDB${leftOut}`,
      isLeftOut: mongo === undefined,
      runs: 9,
      services: 'many',
      keyHolders: 'many',
      async create() {
        const { url } = await emptyDatabase();
        return { open: () => openService(url), openKeys: () => openMongoArchive(url) };
      },
    },
  ];
}

async function openService(url: string) {
  const { pets, keys, close } = await openMongoStorage(url, { autoMigrate: false });
  const writing = await openMongoArchive(url);
  return {
    pets,
    keys,
    archive: writing.archive,
    async close() {
      await writing.close();
      await close();
    },
  };
}

/** A new store that a service has open, until the end of the test. */
export async function opened(storage: TestedStorage) {
  const store = await storage.create();
  const untilEnd = async <T extends { close?(): Promise<void> }>(opening: Promise<T>) => {
    const ports = await opening;
    onTestFinished(async () => ports.close?.());
    return ports;
  };
  return {
    ...(await untilEnd(store.open())),
    /** As the command line does beside a service. */
    openKeys: async () => (await untilEnd(store.openKeys())).keys,
  };
}

/** Runs the contracts of a port over every storage. */
export function overStorages(
  port: string,
  ...contracts: readonly ((storage: TestedStorage) => void)[]
): void {
  for (const storage of testedStorages()) {
    describe.skipIf(storage.isLeftOut ?? false)(`${port}: ${storage.name}`, () => {
      for (const contract of contracts) contract(storage);
    });
  }
}
