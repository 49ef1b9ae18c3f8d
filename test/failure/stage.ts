import { setTimeout as sleep } from 'node:timers/promises';
import { Load, type LoadOptions } from './load.ts';
import { ServiceProcess } from './service-process.ts';
import { until } from './until.ts';

/** Within which the service must go on by itself once the storage is there again. */
export const RESUME_MS = 2_000;

/** The short form is for every change, the full one for publishing. */
export type Form = 'short' | 'full';

/** A figure that only one scenario has, and what it must not exceed. */
export type Bar = {
  readonly what: string;
  readonly value: number;
  readonly atMost: number;
  readonly unit: string;
};

/** Where a scenario plays: it starts services and load here, and says what it expects. All ends with the stage. */
export class Stage implements AsyncDisposable {
  readonly form: Form;
  readonly loads: Load[] = [];
  readonly services: ServiceProcess[] = [];
  readonly bars: Bar[] = [];
  /** What is not as it should be, in the words of the reader. */
  readonly broken: string[] = [];
  /** What a reader of the results should know besides. */
  readonly notes: string[] = [];
  /** Why the scenario cannot be played on this machine. */
  leftOut: string | undefined;
  readonly owned = new AsyncDisposableStack();

  constructor(form: Form) {
    this.form = form;
  }

  /** For the parameters see {@link ServiceProcess.start}. */
  async service(env: Readonly<Record<string, string>>, user?: number, log?: string): Promise<ServiceProcess> {
    const service = this.owned.use(await ServiceProcess.start(env, user, log));
    this.services.push(service);
    return service;
  }

  /** Begins at once. Returns when the first pets are acknowledged. */
  async load(services: readonly ServiceProcess[], options: Partial<LoadOptions> = {}): Promise<Load> {
    const load = new Load(
      services.map(({ url }) => url),
      options,
    );
    this.loads.push(load);
    this.owned.defer(() => load.abandon());
    await until('the first acknowledged pets', () => (load.acknowledged >= 10 ? true : undefined));
    return load;
  }

  /** Lets the load run for so long; a third of it in the short form. */
  async letRun(seconds: number): Promise<void> {
    await sleep((this.form === 'short' ? 333 : 1000) * seconds);
  }

  expect(what: string, isSo: boolean): void {
    if (!isSo) this.broken.push(`not so: ${what}`);
  }

  /** Publishes a figure, and holds it to its bar. */
  bar(what: string, value: number, atMost: number, unit = 'ms'): void {
    const rounded = Math.round(value);
    this.bars.push({ what, value: rounded, atMost, unit });
    // Not a number is no pass.
    if (!(value <= atMost)) this.broken.push(`${what}: ${rounded} ${unit}, at most ${Math.round(atMost)}`);
  }

  /** To be called as soon as the storage can take pets again: the service goes on by itself, and soon. */
  async resumes(load: Load, since: number): Promise<void> {
    const there = performance.now();
    const first = await until('the first pet after an outage', () =>
      load.history.creates.find(({ outcome, ended }) => outcome === 'acknowledged' && ended > since),
    );
    load.healed();
    this.bar('resumed after the storage was there', Math.max(0, first.ended - there), RESUME_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.owned.disposeAsync();
  }
}
