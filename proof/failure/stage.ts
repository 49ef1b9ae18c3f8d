import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { Load, type LoadOptions } from './load.ts';
import type { State } from '../states.ts';
import { drainedABatch } from './reached-states.ts';
import { type Env, ServiceProcess, type ServiceOptions } from './service-process.ts';
import { revocations, turnOverKeys } from './turn-over-keys.ts';
import { until } from './until.ts';

/** How long the service may take to recover after the storage is back. */
const RESUME_MS = 2_000;

/** The short form is for every change, the full one for publication. */
export type Form = 'short' | 'full';

/** A figure of one scenario, and its upper bound. */
export type Bar = {
  readonly what: string;
  readonly value: number;
  readonly atMost: number;
  readonly unit: string;
};

/** A scenario starts its services and load here, and states what it expects. Disposal ends them all. */
export class Stage implements AsyncDisposable {
  readonly form: Form;
  readonly #seed: number;
  readonly #operators: (() => Promise<void>)[] = [];
  readonly loads: Load[] = [];
  readonly services: ServiceProcess[] = [];
  readonly bars: Bar[] = [];
  /** The failed expectations. */
  readonly broken: string[] = [];
  /** Further facts for the reader of the results. */
  readonly notes: string[] = [];
  readonly reached = new Set<State>();
  /** Why the scenario cannot be played on this machine. */
  leftOut: string | undefined;
  readonly owned = new AsyncDisposableStack();

  constructor(form: Form, seed: number) {
    this.form = form;
    this.#seed = seed;
  }

  async service(env: Env, options: ServiceOptions = {}): Promise<ServiceProcess> {
    const service = this.owned.use(await ServiceProcess.start(env, options));
    this.services.push(service);
    return service;
  }

  /** Starts a load. Resolves when the first pets are acknowledged. */
  async load(
    services: readonly Pick<ServiceProcess, 'url'>[],
    options: Partial<LoadOptions> = {},
  ): Promise<Load> {
    const load = new Load(
      services.map(({ url }) => url),
      this.#seed,
      options,
    );
    this.loads.push(load);
    this.owned.defer(() => load.abandon());
    await until('the first acknowledged pets', () => load.acknowledged >= 10);
    return load;
  }

  /** Lets an operator create and revoke API keys for the load, until {@link rest}. */
  turnOverKeys(load: Load, { databaseUrl }: ServiceProcess): void {
    const ending = new AbortController();
    const done = turnOverKeys(load, databaseUrl, ending.signal);
    const end = async () => {
      ending.abort();
      await done;
    };
    this.#operators.push(end);
    this.owned.defer(end);
  }

  /** Lets the load run for this long, or for a third of it in the short form. */
  async letRun(seconds: number): Promise<void> {
    await sleep((this.form === 'short' ? 333 : 1000) * seconds);
  }

  /** Notes how much the history says about revoked keys, which must be something. */
  expectRevokedKeys({ history }: Load): void {
    const { keys, uses } = revocations(history);
    this.expect('revoked keys were used later', uses > 0);
    this.notes.push(`${keys} API keys revoked under load, ${uses} requests with one after 10 s`);
  }

  /** Ends the loads, and then the operators. */
  async rest(): Promise<void> {
    for (const load of this.loads) await load.stop();
    for (const end of this.#operators) await end();
  }

  expect(what: string, isSo: boolean): void {
    if (!isSo) this.broken.push(`not so: ${what}`);
  }

  async expectAlive(service: ServiceProcess): Promise<void> {
    this.expect('/livez was 200', (await ask(`${service.url}/livez`)).status === 200);
  }

  /** Sends SIGTERM, and waits for the end of the service. */
  async terminate(service: ServiceProcess): Promise<void> {
    const beganMs = performance.now();
    const { code } = await service.terminate();
    const isDrained = this.loads.some(({ history }) => drainedABatch(history, service.url, beganMs));
    if (isDrained) this.reached.add('drain-with-batch');
    this.expect(`the service ends with code 0 after SIGTERM (it was ${code})`, code === 0);
  }

  /** Publishes a figure, and compares it with its bar. */
  bar(what: string, value: number, atMost: number, unit = 'ms'): void {
    const rounded = Math.round(value);
    this.bars.push({ what, value: rounded, atMost, unit });
    // NaN fails.
    if (!(value <= atMost)) this.broken.push(`${what}: ${rounded} ${unit}, at most ${Math.round(atMost)}`);
  }

  /**
   * Call it as soon as the storage can accept pets again. The service must recover by itself in time.
   *
   * @param since only pets that were acknowledged after this time count
   */
  async resumes(load: Load, since: number, withinMs = RESUME_MS): Promise<void> {
    const storageBack = performance.now();
    const first = await until('the first pet after an outage', () =>
      load.history.calls.find(
        (call) => call.type === 'create' && call.outcome === 'acknowledged' && call.endMs > since,
      ),
    );
    load.healed();
    this.bar('resumed after the storage was back', Math.max(0, first.endMs - storageBack), withinMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.owned.disposeAsync();
  }
}
