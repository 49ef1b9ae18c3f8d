import fc from 'fast-check';

type Closable = { close?(): Promise<void> };

/** A store that outlives the repositories on it. */
export type Store<T> = {
  /** Opens the store as a further process does. */
  open(): Promise<T & Closable>;
};

/** How many processes can have the store open. A process that another one follows restarts. */
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

  /** One of the processes. */
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

/** A call of the code under test that is compared with the model. */
export function command<Model extends object, Real>(
  title: string,
  run: (model: Model, real: Real) => Promise<void>,
): fc.AsyncCommand<Model, Real> {
  return { run, check: () => true, toString: () => title };
}

/** What processes can do besides calls. It does not change the model. */
export function processCommands<Model extends object, Real extends Opened<unknown>>(
  processes: Processes,
): fc.Arbitrary<fc.AsyncCommand<Model, Real>>[] {
  const restart = command<Model, Real>('restart', (_model, real) => real.restart());
  const openAnother = command<Model, Real>('open another', (_model, real) => real.openAnother());
  const possible = { one: [], 'one after another': [restart], many: [restart, openAnother] }[processes];
  return possible.map((step) => fc.constant(step));
}
