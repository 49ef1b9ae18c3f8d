import fc from 'fast-check';

type Closable = { close?(): Promise<void> };

/** A store that keeps its data when the repositories that use it are closed. */
export type Store<T> = {
  /** Opens the store as another process would open it. */
  open(): Promise<T & Closable>;
};

/**
 * How many processes can open one store. 'one': the data ends with the process. 'one after another': one process at
 * a time, and a restarted process finds the data again. 'many': several processes at the same time.
 */
export type Processes = 'one' | 'one after another' | 'many';

/** A store with the processes that have it open. */
export class OpenedStore<T> implements AsyncDisposable {
  readonly #store: Store<T>;
  #processes: (T & Closable)[] = [];

  private constructor(store: Store<T>) {
    this.#store = store;
  }

  static async on<T>(store: Store<T>): Promise<OpenedStore<T>> {
    const opened = new OpenedStore(store);
    await opened.openAnother();
    return opened;
  }

  /** Returns what one of the processes has opened. Every natural number `n` chooses a process. */
  pick(n: number): T {
    return this.#processes[n % this.#processes.length]!;
  }

  async openAnother(): Promise<void> {
    this.#processes.push(await this.#store.open());
  }

  /** Closes the store in every process, and opens it in one new process. */
  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await this.openAnother();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { close } of this.#processes.splice(0)) await close?.();
  }
}

/** A step of a random test: `run` calls the code under test, and compares the result with that of a simple model. */
export function command<Model extends object, Real>(
  title: string,
  run: (model: Model, real: Real) => Promise<void>,
): fc.AsyncCommand<Model, Real> {
  return { run, check: () => true, toString: () => title };
}

/** Steps that restart a process or start another one. They do not change the model. */
export function processCommands<Model extends object, Real extends OpenedStore<unknown>>(
  processes: Processes,
): fc.Arbitrary<fc.AsyncCommand<Model, Real>>[] {
  const restart = command<Model, Real>('restart', (_model, real) => real.restart());
  const openAnother = command<Model, Real>('open another', (_model, real) => real.openAnother());
  const possibleSteps = { one: [], 'one after another': [restart], many: [restart, openAnother] }[processes];
  return possibleSteps.map((step) => fc.constant(step));
}
