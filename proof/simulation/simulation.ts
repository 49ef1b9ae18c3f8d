import { setImmediate as realTurn } from 'node:timers';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import type { State } from '../states.ts';

/** More events than any schedule needs. A schedule with this number of events is judged to be endless. */
const MAX_EVENTS = 50_000;

export type Task = { readonly name: string; readonly run: () => void };
type TimedTask = Task & { readonly dueMs: number; readonly order: number };

/** How often calls to the outside (the storage) fail or take long in a schedule. Each seed draws its own rates. */
type Rates = {
  /** The share of the calls that fail, from 0 to 1. */
  readonly faults: number;
  /** The share of the calls that take long, from 0 to 1. */
  readonly delays: number;
  /** The share of the events before which the event loop stalls, from 0 to 1. */
  readonly stalls: number;
};

/**
 * One schedule: a virtual clock, the pending events, and a seeded choice of the event that runs next.
 *
 * These events may run next: each event of the outside that is due, the first timer if it is due, and the first
 * immediate. Node has a stricter order, but that order depends on the machine. The clock moves when no event may run,
 * and when the event loop stalls. A stall makes several events due at the same time.
 */
export class Simulation {
  readonly random: SeededRandom;
  rates: Rates;
  /** No call takes long, the event loop never stalls, and at most one call in ten fails. */
  readonly isMild: boolean;
  /** One line per event, in their order. */
  readonly trace: string[] = [];
  readonly violations: string[] = [];
  /** The rare states that this schedule has reached. */
  readonly reached = new Set<State>();
  /** By how many milliseconds stalls have moved the clock so far. A timer is late by at most this time. */
  stalledMs = 0;
  /** How many events have run. */
  eventCount = 0;
  #nowMs: number;
  #nextOrder = 0;
  readonly #outsideTasks: TimedTask[] = [];
  readonly #timers = new Map<number, TimedTask>();
  readonly #immediates = new Map<number, Task>();

  /** @param random makes every choice of the schedule */
  constructor(random: SeededRandom) {
    this.random = random;
    this.#nowMs = this.random.between(0, 1_000);
    this.rates = {
      faults: this.random.pick([0, 0, 0.03, 0.1, 0.3]),
      delays: this.random.pick([0, 0.02, 0.1, 0.3]),
      stalls: this.random.pick([0, 0, 0.01, 0.05]),
    };
    const { faults, delays, stalls } = this.rates;
    this.isMild = faults <= 0.1 && delays === 0 && stalls === 0;
  }

  /** The virtual clock, which `performance.now()` shows. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** From now on, no call to the outside fails or takes long, and the event loop does not stall. */
  calm(): void {
    this.note('calm');
    this.rates = { faults: 0, delays: 0, stalls: 0 };
  }

  note(what: string): void {
    this.trace.push(`${this.#nowMs.toFixed(3)} ${what}`);
  }

  noteState(state: State): void {
    this.reached.add(state);
  }

  /** Records a violation if the condition is false. */
  check(condition: boolean, violation: () => string): void {
    if (condition) return;
    this.violations.push(violation());
    this.note(`VIOLATION ${violation()}`);
  }

  /** Schedules an event of the outside. Events that are due at the same time run in any order. */
  later(name: string, delayMs: number, run: () => void): void {
    this.#outsideTasks.push({ name, run, dueMs: this.#nowMs + delayMs, order: this.#nextOrder++ });
  }

  /** Resolves after the delay, by an event of the outside. The callers of the code under test wait with it. */
  wait(name: string, delayMs: number): Promise<void> {
    return new Promise((resolve) => this.later(name, delayMs, resolve));
  }

  /** How long a request to the outside, or its reply, is on its way: mostly below 3 ms, sometimes up to 15 s. */
  latencyMs(): number {
    const { random, rates } = this;
    if (!random.chance(rates.delays)) return random.between(0.05, 3);
    return random.chance(0.8) ? random.between(3, 300) : random.between(300, 15_000);
  }

  /** @returns the key of the timer */
  addTimer(delayMs: number, name: string, run: () => void): number {
    // Node does the same: a delay has whole milliseconds, at least one, from a time that is rounded down to a
    // millisecond.
    const wholeMs = delayMs >= 1 && delayMs < 2 ** 31 ? Math.trunc(delayMs) : 1;
    const order = this.#nextOrder++;
    this.#timers.set(order, { name, run, dueMs: Math.floor(this.#nowMs) + wholeMs, order });
    return order;
  }

  addImmediate(name: string, run: () => void): number {
    const order = this.#nextOrder++;
    this.#immediates.set(order, { name, run });
    return order;
  }

  cancel(key: number): void {
    this.#timers.delete(key);
    this.#immediates.delete(key);
  }

  /** Runs events until none is left. */
  async run(): Promise<void> {
    await settle();
    for (let task = this.#takeNextTask(); task !== undefined; task = this.#takeNextTask()) {
      this.note(task.name);
      this.#runTask(task);
      await settle();
      if (++this.eventCount < MAX_EVENTS) continue;
      this.check(false, () => `the schedule does not end: it has ${MAX_EVENTS} events`);
      return;
    }
  }

  /** Runs the task. An error that it throws is a violation, because an uncaught error would end the process. */
  #runTask({ name, run }: Task): void {
    try {
      run();
    } catch (error) {
      this.check(false, () => `${name} threw ${error instanceof Error ? error.stack : String(error)}`);
    }
  }

  #takeNextTask(): Task | undefined {
    if (this.random.chance(this.rates.stalls)) this.#stall();
    const runnableTasks = this.#runnableTasks();
    if (runnableTasks.length > 0) return this.random.pick(runnableTasks)();
    const dueMs = this.#nextDueMs();
    if (dueMs === undefined) return undefined;
    this.#nowMs = dueMs;
    return this.random.pick(this.#runnableTasks())();
  }

  #stall(): void {
    const stallMs = this.random.chance(0.9) ? this.random.between(1, 30) : this.random.between(30, 12_000);
    this.#nowMs += stallMs;
    this.stalledMs += stallMs;
    this.note(`stall of ${stallMs.toFixed(3)} ms`);
  }

  /** @returns for each task that may run now, a function that takes it */
  #runnableTasks(): (() => Task)[] {
    const runnableTasks = this.#outsideTasks
      .filter(({ dueMs }) => dueMs <= this.#nowMs)
      .toSorted((one, other) => (one.order < other.order ? -1 : 1))
      .map((task) => (): Task => {
        this.#outsideTasks.splice(this.#outsideTasks.indexOf(task), 1);
        return task;
      });
    const timer = this.#firstTimer();
    if (timer !== undefined && timer.dueMs <= this.#nowMs) {
      runnableTasks.push(() => {
        this.#timers.delete(timer.order);
        return timer;
      });
    }
    const [immediate] = this.#immediates;
    if (immediate !== undefined) {
      runnableTasks.push(() => {
        this.#immediates.delete(immediate[0]);
        return immediate[1];
      });
    }
    return runnableTasks;
  }

  #firstTimer(): TimedTask | undefined {
    let first: TimedTask | undefined;
    for (const timer of this.#timers.values())
      if (first === undefined || timer.dueMs < first.dueMs) first = timer;
    return first;
  }

  #nextDueMs(): number | undefined {
    const first = this.#firstTimer();
    const due = this.#outsideTasks.map(({ dueMs }) => dueMs);
    if (first !== undefined) due.push(first.dueMs);
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

/**
 * Runs all code that is ready, because Node empties its queues of ticks and microtasks before the next real immediate.
 */
function settle(): Promise<void> {
  return new Promise((resolve) => void realTurn(resolve));
}
