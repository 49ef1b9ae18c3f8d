import fc from 'fast-check';

type Closable = { close?(): Promise<void> };

/** A store that keeps its data when the repositories that use it are closed. */
export type Store<T> = {
  /** Opens the store as a further process does. */
  open(): Promise<T & Closable>;
};

/** How many processes can have the store open at the same time. 'one after another': one, which may be restarted. */
export type Processes = 'one' | 'one after another' | 'many';

/** A store with the processes that have it open. */
export class Opened<T> implements AsyncDisposable {
  readonly #store: Store<T>;
  #processes: (T & Closable)[] = [];

  private constructor(store: Store<T>) {
    this.#store = store;
  }

  static async on<T>(store: Store<T>): Promise<Opened<T>> {
    const opened = new Opened(store);
    await opened.openAnother();
    return opened;
  }

  /** Any number chooses one of the processes. */
  pick(n: number): T {
    return this.#processes[n % this.#processes.length]!;
  }

  async openAnother(): Promise<void> {
    this.#processes.push(await this.#store.open());
  }

  async restart(): Promise<void> {
    await this[Symbol.asyncDispose]();
    await this.openAnother();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { close } of this.#processes.splice(0)) await close?.();
  }
}

/** A random step: `run` calls the code under test, and compares the result with the model. */
export function command<Model extends object, Real>(
  title: string,
  run: (model: Model, real: Real) => Promise<void>,
): fc.AsyncCommand<Model, Real> {
  return { run, check: () => true, toString: () => title };
}

/** Steps that restart a process or start another one. They do not change the model. */
export function processCommands<Model extends object, Real extends Opened<unknown>>(
  processes: Processes,
): fc.Arbitrary<fc.AsyncCommand<Model, Real>>[] {
  const restart = command<Model, Real>('restart', (_model, real) => real.restart());
  const openAnother = command<Model, Real>('open another', (_model, real) => real.openAnother());
  const possible = { one: [], 'one after another': [restart], many: [restart, openAnother] }[processes];
  return possible.map((step) => fc.constant(step));
}
