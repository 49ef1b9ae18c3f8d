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

/** More than a command spends between two of its steps. */
const TURNS = 10;

/** More than it spends on the reads between two changes. */
const TURNS_OF_A_CHANGE = 100;

async function turns(count = TURNS): Promise<void> {
  for (let n = 0; n < count; n++) await turn();
}

const READS = new Set(['findById', 'list', 'read', 'count', 'greatestId', 'lastId', 'check']);

/**
 * Storages in memory that outlive the commands. Each call has its effect several turns of the event loop later, so a
 * promise that is not awaited shows. Only one caller at a time may have a storage open.
 */
export class SlowStorages {
  /** What callers have done wrong. */
  readonly faults: string[] = [];
  readonly #stores = new Map<string, Promise<Store>>();
  readonly #open = new Set<string>();
  readonly #changes = new Set<string>();

  readonly kind: StorageKind = {
    ...memoryStorage,
    name: 'slow',
    urlForm: 'slow:NAME',
    persistent: true,
    isUrl: (url) => url.startsWith('slow:'),
    openService: (url) => this.#opened(url),
    openForReading: (url) => this.#opened(url),
    openForChecking: (url) => this.#opened(url),
    openForWriting: (url) => this.#opened(url),
    openKeys: (url) => this.#opened(url),
    migrate: (database) => this.#change('migrate', async () => ({ database, from: 1, to: 2 })),
    backUp: () => this.#change('backup', async () => {}),
    restore: () => this.#change('restore', async () => 0n),
  };

  /** A storage without the delays. */
  store(url: string): Promise<Store> {
    const store =
      this.#stores.get(url) ?? (memoryStorage.openForWriting(url, storageHost()) as Promise<Store>);
    this.#stores.set(url, store);
    return store;
  }

  async #opened(url: string): Promise<Store> {
    if (this.#open.has(url)) this.faults.push(`${url} is opened twice`);
    this.#open.add(url);
    await turns();
    return this.#slow(url, await this.store(url));
  }

  /** At an answer every change is made. At the end every storage is closed, too. */
  expectNoChange(when: 'answer' | 'end'): void {
    for (const change of this.#changes) this.faults.push(`${change} is under way at the ${when}`);
    if (when === 'end') for (const url of this.#open) this.faults.push(`${url} is open at the end`);
  }

  async #change<T>(name: string, change: () => Promise<T>): Promise<T> {
    for (const other of this.#changes) this.faults.push(`${name} begins during ${other}`);
    this.#changes.add(name);
    await turns(TURNS_OF_A_CHANGE);
    return change().finally(() => this.#changes.delete(name));
  }

  #slow(url: string, store: Store): Store {
    let underWay = 0;
    const slow = <T extends object>(port: T): T =>
      new Proxy(port, {
        get:
          (_, name: string) =>
          async (...given: unknown[]) => {
            const call = () =>
              (Reflect.get(port, name) as (...all: unknown[]) => Promise<unknown>).apply(port, given);
            if (!this.#open.has(url)) this.faults.push(`${name} after close`);
            underWay++;
            const result = READS.has(name) ? turns().then(call) : this.#change(name, call);
            return result.finally(() => underWay--);
          },
      });
    const { pets, archive, keys, probe } = store;
    return {
      ...store,
      pets: slow(pets),
      archive: slow(archive),
      keys: slow(keys),
      probe: slow(probe),
      close: async () => {
        if (underWay > 0) this.faults.push(`${url} is closed with ${underWay} calls under way`);
        await turns();
        this.#open.delete(url);
      },
    };
  }
}
