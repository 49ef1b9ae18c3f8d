import type { Simulation } from './simulation.ts';

export type Call<T> = {
  readonly name: string;
  readonly value: T | undefined;
  /** The `kind` of the error. */
  readonly failed: string | undefined;
};

export type CallRules = {
  /** The deadline of the call, in virtual milliseconds. Time in which the event loop stalls comes on top. */
  readonly limitMs: number;
  /** The kinds of the errors that the call may throw. */
  readonly errors: readonly string[];
};

/** Timers start from a clock of whole milliseconds, and random pauses end after the deadline. */
const SLACK_MS = 2;

/** The calls to the code under test, which must all settle in time. */
export class Calls {
  readonly #simulation: Simulation;
  readonly #pending = new Set<string>();
  /** The calls that failed because the storage was unavailable. */
  readonly unavailable: string[] = [];
  #number = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** The names of the calls that have not settled. */
  get pending(): readonly string[] {
    return [...this.#pending];
  }

  /** Never rejects. */
  async make<T>(what: string, { limitMs, errors }: CallRules, work: () => Promise<T>): Promise<Call<T>> {
    const simulation = this.#simulation;
    const name = `call ${++this.#number}: ${what}`;
    const { nowMs, stalledMs } = simulation;
    simulation.note(name);
    this.#pending.add(name);
    let value: T | undefined;
    let failed: string | undefined;
    try {
      value = await work();
    } catch (error) {
      failed = kindOf(error);
      if (failed === 'storage-unavailable') this.unavailable.push(name);
      simulation.check(errors.includes(failed), () => `${name}: unexpected ${describe(error)}`);
    }
    this.#pending.delete(name);
    const tookMs = simulation.nowMs - nowMs;
    const lateMs = tookMs - limitMs - (simulation.stalledMs - stalledMs);
    simulation.check(lateMs <= SLACK_MS, () => `${name}: took ${tookMs} ms, the limit is ${limitMs} ms`);
    simulation.note(`${name}: ${failed ?? 'done'}`);
    return { name, value, failed };
  }

  /** Call it when no event is pending. */
  verifyAllSettled(): void {
    for (const name of this.#pending) this.#simulation.check(false, () => `${name}: never settled`);
  }
}

function kindOf(error: unknown): string {
  return error instanceof Error && 'kind' in error ? String(error.kind) : 'none';
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
