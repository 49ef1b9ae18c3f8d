import { setImmediate as turn } from 'node:timers/promises';
import { memoryStorage } from '../../src/adapters/memory/storage.ts';
import type {
  CheckableStorage,
  ServiceStorage,
  StorageKind,
  WritableStorage,
} from '../../src/application/ports/storage-kind.ts';
import { storageHost } from './storage-host.ts';

type Store = ServiceStorage & CheckableStorage & WritableStorage;

/** How many turns of the event loop a read takes: more than a command needs between two of its steps. */
const READ_TURNS = 10;

/** How many turns of the event loop a change takes: more than a command needs for the reads between two changes. */
const CHANGE_TURNS = 100;

async function waitTurns(count = READ_TURNS): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

const READ_METHODS = new Set(['findById', 'list', 'read', 'count', 'greatestId', 'lastId', 'check']);

/**
 * Storages in memory that keep their data between commands. Each call takes effect several turns of the event loop
 * later, so a command that does not await a call adds to `faults`. Only one caller at a time may have a storage open.
 */
export class SlowStorages {
  /** The mistakes of the callers, one line each. */
  readonly faults: string[] = [];
  readonly #stores = new Map<string, Promise<Store>>();
  readonly #openUrls = new Set<string>();
  readonly #runningChanges = new Set<string>();

  readonly kind: StorageKind = {
    ...memoryStorage,
    name: 'slow',
    urlForm: 'slow:NAME',
    persistent: true,
    isUrl: (url) => url.startsWith('slow:'),
    openService: (url) => this.#openSlowly(url),
    openForReading: (url) => this.#openSlowly(url),
    openForChecking: (url) => this.#openSlowly(url),
    openForWriting: (url) => this.#openSlowly(url),
    openKeys: (url) => this.#openSlowly(url),
    migrate: (database) => this.#change('migrate', async () => ({ database, from: 1, to: 2 })),
    backUp: () => this.#change('backup', async () => {}),
    restore: () => this.#change('restore', async () => 0n),
  };

  /** The storage with this URL, without the delays. */
  store(url: string): Promise<Store> {
    const store =
      this.#stores.get(url) ?? (memoryStorage.openForWriting(url, storageHost()) as Promise<Store>);
    this.#stores.set(url, store);
    return store;
  }

  async #openSlowly(url: string): Promise<Store> {
    if (this.#openUrls.has(url)) this.faults.push(`${url} is opened twice`);
    this.#openUrls.add(url);
    await waitTurns();
    return this.#slowStore(url, await this.store(url));
  }

  /**
   * Adds a fault for each change that is not finished. At the end of a command, adds a fault for each open storage,
   * too.
   */
  expectNoChange(when: 'answer' | 'end'): void {
    for (const change of this.#runningChanges) this.faults.push(`${change} is not finished at the ${when}`);
    if (when === 'end') for (const url of this.#openUrls) this.faults.push(`${url} is open at the end`);
  }

  async #change<T>(name: string, change: () => Promise<T>): Promise<T> {
    for (const other of this.#runningChanges) this.faults.push(`${name} begins during ${other}`);
    this.#runningChanges.add(name);
    await waitTurns(CHANGE_TURNS);
    return change().finally(() => this.#runningChanges.delete(name));
  }

  #slowStore(url: string, store: Store): Store {
    let runningCalls = 0;
    const slowed = <T extends object>(port: T): T =>
      new Proxy(port, {
        get:
          (_, name: string) =>
          async (...args: unknown[]) => {
            const call = () =>
              (Reflect.get(port, name) as (...all: unknown[]) => Promise<unknown>).apply(port, args);
            if (!this.#openUrls.has(url)) this.faults.push(`${name} after close`);
            runningCalls++;
            const result = READ_METHODS.has(name) ? waitTurns().then(call) : this.#change(name, call);
            return result.finally(() => runningCalls--);
          },
      });
    const { pets, archive, keys, probe } = store;
    return {
      ...store,
      pets: slowed(pets),
      archive: slowed(archive),
      keys: slowed(keys),
      probe: slowed(probe),
      close: async () => {
        if (runningCalls > 0) this.faults.push(`${url} is closed with ${runningCalls} unfinished calls`);
        await waitTurns();
        this.#openUrls.delete(url);
      },
    };
  }
}
