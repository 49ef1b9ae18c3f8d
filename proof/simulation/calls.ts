import type { Simulation } from './simulation.ts';

export type Call<T> = {
  readonly name: string;
  readonly value: T | undefined;
  /** The `kind` of the error, or `none` for an error without a kind. `undefined` if the call succeeded. */
  readonly failure: string | undefined;
};

export type CallRules = {
  /**
   * The deadline of the call, in virtual milliseconds. The call may take longer by the time of stalls of the event
   * loop.
   */
  readonly limitMs: number;
  /** The kinds of the errors that the call may throw. */
  readonly errors: readonly string[];
};

/**
 * The time by which a call may exceed its deadline: timers count from a time in whole milliseconds, and a pause between
 * two attempts may end after the deadline.
 */
const MAX_LATE_MS = 2;

/** Makes the calls to the code under test, and checks that each of them settles before its deadline. */
export class Calls {
  readonly #simulation: Simulation;
  readonly #pendingCalls = new Set<string>();
  /** The names of the calls that failed because the storage was unavailable. */
  readonly unavailableCalls: string[] = [];
  #number = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** The names of the calls that have not settled. */
  get pendingCalls(): readonly string[] {
    return [...this.#pendingCalls];
  }

  /** Calls `work`, and checks its time and its error. Never rejects. */
  async make<T>(what: string, { limitMs, errors }: CallRules, work: () => Promise<T>): Promise<Call<T>> {
    const simulation = this.#simulation;
    const name = `call ${++this.#number}: ${what}`;
    const { nowMs: startMs, stalledMs: stalledBeforeMs } = simulation;
    simulation.note(name);
    this.#pendingCalls.add(name);
    let value: T | undefined;
    let failure: string | undefined;
    try {
      value = await work();
    } catch (error) {
      failure = kindOf(error);
      if (failure === 'storage-unavailable') this.unavailableCalls.push(name);
      simulation.check(errors.includes(failure), () => `${name}: unexpected ${describeError(error)}`);
    }
    this.#pendingCalls.delete(name);
    const tookMs = simulation.nowMs - startMs;
    const lateMs = tookMs - limitMs - (simulation.stalledMs - stalledBeforeMs);
    simulation.check(lateMs <= MAX_LATE_MS, () => `${name}: took ${tookMs} ms, the limit is ${limitMs} ms`);
    simulation.note(`${name}: ${failure ?? 'succeeded'}`);
    return { name, value, failure };
  }

  /** Call it when no event is pending. */
  verifyAllSettled(): void {
    for (const name of this.#pendingCalls) this.#simulation.check(false, () => `${name}: never settled`);
  }
}

function kindOf(error: unknown): string {
  return error instanceof Error && 'kind' in error ? String(error.kind) : 'none';
}

function describeError(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
