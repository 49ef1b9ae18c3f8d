import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { Load, type LoadOptions } from './load.ts';
import type { State } from '../states.ts';
import { hasDrainedBatch } from './reached-states.ts';
import { type Env, ServiceProcess, type ServiceOptions } from './service-process.ts';
import { countRevocations, turnOverKeys } from './turn-over-keys.ts';
import { until } from './until.ts';

/** How long the service may take to recover after the storage is back. */
const RECOVERY_MS = 2_000;

/** The short form is for every change, the full one for publication. */
export type Form = 'short' | 'full';

/** A figure of one scenario, and its upper bound. */
export type BoundedFigure = {
  readonly what: string;
  readonly value: number;
  readonly atMost: number;
  readonly unit: string;
};

/** A scenario starts its services and load here, and states what it expects. Disposal ends them all. */
export class Stage implements AsyncDisposable {
  readonly form: Form;
  readonly #seed: number;
  readonly #operatorEnders: (() => Promise<void>)[] = [];
  readonly loads: Load[] = [];
  readonly services: ServiceProcess[] = [];
  readonly boundedFigures: BoundedFigure[] = [];
  /** The failed expectations. */
  readonly failures: string[] = [];
  /** Further facts for the reader of the results. */
  readonly notes: string[] = [];
  readonly reachedStates = new Set<State>();
  /** Why the scenario cannot be played on this machine. */
  skipReason: string | undefined;
  readonly resources = new AsyncDisposableStack();

  constructor(form: Form, seed: number) {
    this.form = form;
    this.#seed = seed;
  }

  async startService(env: Env, options: ServiceOptions = {}): Promise<ServiceProcess> {
    const service = this.resources.use(await ServiceProcess.start(env, options));
    this.services.push(service);
    return service;
  }

  /** Starts a load. Resolves when the first pets are acknowledged. */
  async startLoad(
    services: readonly Pick<ServiceProcess, 'url'>[],
    options: Partial<LoadOptions> = {},
  ): Promise<Load> {
    const load = new Load(
      services.map(({ url }) => url),
      this.#seed,
      options,
    );
    this.loads.push(load);
    this.resources.defer(() => load.abandon());
    await until('the first acknowledged pets', () => load.acknowledgedCount >= 10);
    return load;
  }

  /** Lets an operator create and revoke API keys for the load, until {@link stopLoads}. */
  turnOverKeys(load: Load, { databaseUrl }: ServiceProcess): void {
    const ending = new AbortController();
    const done = turnOverKeys(load, databaseUrl, ending.signal);
    const end = async () => {
      ending.abort();
      await done;
    };
    this.#operatorEnders.push(end);
    this.resources.defer(end);
  }

  /** Lets the load run for this long, or for a third of it in the short form. */
  async letRun(seconds: number): Promise<void> {
    await sleep((this.form === 'short' ? 333 : 1000) * seconds);
  }

  /** Notes how much the history says about revoked keys, which must be something. */
  expectRevokedKeys({ history }: Load): void {
    const { revokedKeys, lateRequests } = countRevocations(history);
    this.expect('revoked keys were used later', lateRequests > 0);
    this.notes.push(
      `${revokedKeys} API keys revoked under load, ${lateRequests} requests with one after 10 s`,
    );
  }

  /** Ends the loads, and then the operators. */
  async stopLoads(): Promise<void> {
    for (const load of this.loads) await load.stop();
    for (const end of this.#operatorEnders) await end();
  }

  expect(what: string, isTrue: boolean): void {
    if (!isTrue) this.failures.push(`not so: ${what}`);
  }

  async expectAlive(service: ServiceProcess): Promise<void> {
    this.expect('/livez was 200', (await ask(`${service.url}/livez`)).status === 200);
  }

  /** Sends SIGTERM, and waits for the end of the service. */
  async terminateService(service: ServiceProcess): Promise<void> {
    const beganMs = performance.now();
    const { code } = await service.terminate();
    const isDrained = this.loads.some(({ history }) => hasDrainedBatch(history, service.url, beganMs));
    if (isDrained) this.reachedStates.add('drain-with-batch');
    this.expect(`the service ends with code 0 after SIGTERM (it was ${code})`, code === 0);
  }

  /** Publishes a figure, and compares it with its bar. */
  expectAtMost(what: string, value: number, atMost: number, unit = 'ms'): void {
    const rounded = Math.round(value);
    this.boundedFigures.push({ what, value: rounded, atMost, unit });
    // NaN fails.
    if (!(value <= atMost)) this.failures.push(`${what}: ${rounded} ${unit}, at most ${Math.round(atMost)}`);
  }

  /**
   * Call it as soon as the storage can accept pets again. The service must recover by itself in time.
   *
   * @param sinceMs only pets that were acknowledged after this time count
   */
  async expectRecovery(load: Load, sinceMs: number, withinMs = RECOVERY_MS): Promise<void> {
    const storageBackMs = performance.now();
    const firstPet = await until('the first pet after an outage', () =>
      load.history.calls.find(
        (call) => call.type === 'create' && call.outcome === 'acknowledged' && call.endMs > sinceMs,
      ),
    );
    load.endFault();
    this.expectAtMost(
      'resumed after the storage was back',
      Math.max(0, firstPet.endMs - storageBackMs),
      withinMs,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
  }
}
