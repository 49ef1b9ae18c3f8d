import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from './ask.ts';
import { Load, type LoadOptions } from './load.ts';
import type { State } from '../states.ts';
import { hasDrainedBatch } from './reached-states.ts';
import { type Env, ServiceProcess, type ServiceOptions } from './service-process.ts';
import { countRevocations, turnOverKeys } from './turn-over-keys.ts';
import { until } from './until.ts';

/** How long the service may take, after the storage is back, until it acknowledges a pet. */
const RECOVERY_MS = 2_000;

/** The short form tests a change of the program. The full form produces the published results. */
export type Form = 'short' | 'full';

/** A measured figure of a scenario, and the greatest value that the scenario allows. */
export type BoundedFigure = {
  readonly what: string;
  readonly value: number;
  readonly atMost: number;
  readonly unit: string;
};

/** A scenario starts its services and its load here, and states what it expects. Disposal ends all of them. */
export class Stage implements AsyncDisposable {
  readonly form: Form;
  readonly #seed: number;
  readonly #operatorEnders: (() => Promise<void>)[] = [];
  readonly loads: Load[] = [];
  readonly services: ServiceProcess[] = [];
  readonly boundedFigures: BoundedFigure[] = [];
  /** A text for each failed expectation. */
  readonly failures: string[] = [];
  /** Further facts about the run, which `results.md` lists. */
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

  /** Starts clients that send requests. Resolves when ten pets are acknowledged. */
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

  /** Creates and revokes API keys for the load, as an operator does, until {@link stopLoads}. */
  turnOverKeys(load: Load, { databaseUrl }: ServiceProcess): void {
    const controller = new AbortController();
    const operator = turnOverKeys(load, databaseUrl, controller.signal);
    const endOperator = async () => {
      controller.abort();
      await operator;
    };
    this.#operatorEnders.push(endOperator);
    this.resources.defer(endOperator);
  }

  /** Lets the load run for this many seconds. In the short form, it runs for a third of that time. */
  async letRun(seconds: number): Promise<void> {
    await sleep((this.form === 'short' ? 333 : 1000) * seconds);
  }

  /** Expects that at least one request used a key 10 s after its revocation, and notes how many requests did. */
  expectRevokedKeys({ history }: Load): void {
    const { revokedKeys, lateRequests } = countRevocations(history);
    this.expect('clients used revoked keys 10 s after the revocation', lateRequests > 0);
    this.notes.push(
      `${revokedKeys} API keys revoked under load, ${lateRequests} requests with them 10 s later`,
    );
  }

  /** Stops the loads, and then {@link turnOverKeys}. */
  async stopLoads(): Promise<void> {
    for (const load of this.loads) await load.stop();
    for (const endOperator of this.#operatorEnders) await endOperator();
  }

  expect(what: string, isTrue: boolean): void {
    if (!isTrue) this.failures.push(`not true: ${what}`);
  }

  async expectAlive(service: ServiceProcess): Promise<void> {
    this.expect('/livez answers 200', (await ask(`${service.url}/livez`)).status === 200);
  }

  /** Sends SIGTERM to the service, and waits until it has ended. */
  async terminateService(service: ServiceProcess): Promise<void> {
    const drainBeginMs = performance.now();
    const { code } = await service.terminate();
    const hasDrained = this.loads.some(({ history }) => hasDrainedBatch(history, service.url, drainBeginMs));
    if (hasDrained) this.reachedStates.add('drain-during-batch');
    this.expect(`the service ends with code 0 after SIGTERM (it was ${code})`, code === 0);
  }

  /** Publishes a figure in the results. The scenario fails if the figure is greater than `atMost`. */
  expectAtMost(what: string, value: number, atMost: number, unit = 'ms'): void {
    const rounded = Math.round(value);
    this.boundedFigures.push({ what, value: rounded, atMost, unit });
    // With `value > atMost`, NaN would pass.
    if (!(value <= atMost)) this.failures.push(`${what}: ${rounded} ${unit}, at most ${Math.round(atMost)}`);
  }

  /**
   * Expects that the service adds a pet within `withinMs`. Call it when the storage accepts writes after an outage.
   *
   * @param sinceMs a pet counts only if it was acknowledged after this time
   */
  async expectRecovery(load: Load, sinceMs: number, withinMs = RECOVERY_MS): Promise<void> {
    const storageBackMs = performance.now();
    const firstPet = await until('the first pet after an outage', () =>
      load.history.calls.find(
        (call) => call.type === 'create' && call.outcome === 'acknowledged' && call.endMs > sinceMs,
      ),
    );
    load.endFault();
    const resumedMs = Math.max(0, firstPet.endMs - storageBackMs);
    this.expectAtMost('resumed after the storage was back', resumedMs, withinMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.resources.disposeAsync();
  }
}
