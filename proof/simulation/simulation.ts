import { setImmediate as realTurn } from 'node:timers';
import type { SeededRandom } from '../../test/support/seeded-random.ts';
import type { State } from '../states.ts';

/** More events than any schedule needs. A schedule that reaches this number never ends. */
const MAX_EVENTS = 50_000;

export type Task = { readonly name: string; readonly run: () => void };
type TimedTask = Task & { readonly dueMs: number; readonly order: number };

/** How a schedule treats the code under test. Drawn once for each seed: some schedules are calm, some are stormy. */
type Weather = {
  /** The share of calls to the outside that fail. */
  readonly faults: number;
  /** The share of calls to the outside that take long. */
  readonly delays: number;
  /** The share of events before which the event loop stalls. */
  readonly stalls: number;
};

/**
 * One schedule: a virtual clock, the events that are pending, and the seeded choice of the one that runs next.
 *
 * Everything that may run next is eligible: each reply of the outside that is due, the first timer that is due, and the
 * first immediate. Node has a stricter order, which depends on the machine. The clock moves only when nothing is
 * eligible, or when the event loop stalls: then several events become due at once.
 */
export class Simulation {
  readonly random: SeededRandom;
  weather: Weather;
  /** Nothing takes long, and few calls to the outside fail. */
  readonly isMild: boolean;
  /** What happened, in order. */
  readonly trace: string[] = [];
  readonly violations: string[] = [];
  /** The rare states that this schedule has reached. */
  readonly reached = new Set<State>();
  /** By how many milliseconds stalls have moved the clock so far. No timer is later than that. */
  stalledMs = 0;
  /** How many events have run. */
  events = 0;
  #nowMs: number;
  #order = 0;
  readonly #outside: TimedTask[] = [];
  readonly #timers = new Map<number, TimedTask>();
  readonly #immediates = new Map<number, Task>();

  /** @param random makes every choice of the schedule */
  constructor(random: SeededRandom) {
    this.random = random;
    this.#nowMs = this.random.between(0, 1_000);
    this.weather = {
      faults: this.random.pick([0, 0, 0.03, 0.1, 0.3]),
      delays: this.random.pick([0, 0.02, 0.1, 0.3]),
      stalls: this.random.pick([0, 0, 0.01, 0.05]),
    };
    const { faults, delays, stalls } = this.weather;
    this.isMild = faults <= 0.1 && delays === 0 && stalls === 0;
  }

  /** The virtual clock, which `performance.now()` shows. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** From now on, the outside works. */
  calm(): void {
    this.note('calm');
    this.weather = { faults: 0, delays: 0, stalls: 0 };
  }

  note(what: string): void {
    this.trace.push(`${this.#nowMs.toFixed(3)} ${what}`);
  }

  reach(state: State): void {
    this.reached.add(state);
  }

  /** Records a violation unless the condition holds. */
  check(condition: boolean, violation: () => string): void {
    if (condition) return;
    this.violations.push(violation());
    this.note(`VIOLATION ${violation()}`);
  }

  /** The outside does something after the delay, in any order with everything else that is due then. */
  later(name: string, delayMs: number, run: () => void): void {
    this.#outside.push({ name, run, dueMs: this.#nowMs + delayMs, order: this.#order++ });
  }

  /** Resolves after the delay, as an event of the outside. For the callers of the code under test. */
  wait(name: string, delayMs: number): Promise<void> {
    return new Promise((resolve) => this.later(name, delayMs, resolve));
  }

  /** How long a call to the outside takes one way: mostly below 3 ms, sometimes longer than any deadline. */
  latencyMs(): number {
    const { random, weather } = this;
    if (!random.chance(weather.delays)) return random.between(0.05, 3);
    return random.chance(0.8) ? random.between(3, 300) : random.between(300, 15_000);
  }

  /** @returns the key of the timer */
  addTimer(delayMs: number, name: string, run: () => void): number {
    // As in Node: whole milliseconds, at least one, counted from a clock that shows whole milliseconds.
    const wholeMs = delayMs >= 1 && delayMs < 2 ** 31 ? Math.trunc(delayMs) : 1;
    const order = this.#order++;
    this.#timers.set(order, { name, run, dueMs: Math.floor(this.#nowMs) + wholeMs, order });
    return order;
  }

  addImmediate(name: string, run: () => void): number {
    const order = this.#order++;
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
    for (let task = this.#takeNext(); task !== undefined; task = this.#takeNext()) {
      this.note(task.name);
      this.#runTask(task);
      await settle();
      if (++this.events < MAX_EVENTS) continue;
      this.check(false, () => `the schedule does not end: ${MAX_EVENTS} events`);
      return;
    }
  }

  /** An error that nothing catches would end the process. */
  #runTask({ name, run }: Task): void {
    try {
      run();
    } catch (error) {
      this.check(false, () => `${name} threw ${error instanceof Error ? error.stack : String(error)}`);
    }
  }

  #takeNext(): Task | undefined {
    if (this.random.chance(this.weather.stalls)) this.#stall();
    const eligible = this.#eligible();
    if (eligible.length > 0) return this.random.pick(eligible)();
    const dueMs = this.#nextDueMs();
    if (dueMs === undefined) return undefined;
    this.#nowMs = dueMs;
    return this.random.pick(this.#eligible())();
  }

  #stall(): void {
    const stallMs = this.random.chance(0.9) ? this.random.between(1, 30) : this.random.between(30, 12_000);
    this.#nowMs += stallMs;
    this.stalledMs += stallMs;
    this.note(`stall of ${stallMs.toFixed(3)} ms`);
  }

  /** @returns for each task that may run now, a function that takes it */
  #eligible(): (() => Task)[] {
    const eligible = this.#outside
      .filter(({ dueMs }) => dueMs <= this.#nowMs)
      .toSorted((one, other) => (one.order < other.order ? -1 : 1))
      .map((task) => (): Task => {
        this.#outside.splice(this.#outside.indexOf(task), 1);
        return task;
      });
    const timer = this.#firstTimer();
    if (timer !== undefined && timer.dueMs <= this.#nowMs) {
      eligible.push(() => {
        this.#timers.delete(timer.order);
        return timer;
      });
    }
    const [immediate] = this.#immediates;
    if (immediate !== undefined) {
      eligible.push(() => {
        this.#immediates.delete(immediate[0]);
        return immediate[1];
      });
    }
    return eligible;
  }

  #firstTimer(): TimedTask | undefined {
    let first: TimedTask | undefined;
    for (const timer of this.#timers.values())
      if (first === undefined || timer.dueMs < first.dueMs) first = timer;
    return first;
  }

  #nextDueMs(): number | undefined {
    const first = this.#firstTimer();
    const due = this.#outside.map(({ dueMs }) => dueMs);
    if (first !== undefined) due.push(first.dueMs);
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

/** Runs everything that is ready: Node empties its queues of ticks and microtasks before the next real immediate. */
function settle(): Promise<void> {
  return new Promise((resolve) => void realTurn(resolve));
}
