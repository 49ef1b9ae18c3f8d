import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import type { Simulation } from './simulation.ts';

/** The real functions of time, which the virtual ones replace. */
const REAL_TIMERS = {
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate,
  clearImmediate,
} as const;
const REAL_PROMISE_TIMERS = { setTimeout: timers.setTimeout, setImmediate: timers.setImmediate } as const;
const REAL_RANDOM = Math.random;

let isVirtual = false;

/** The object that the virtual `setTimeout`, `setInterval` and `setImmediate` return. */
class TimerHandle {
  key = 0;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/**
 * Replaces the clock, the timers and the random numbers of this process by those of the simulation, until the returned
 * object is disposed. The code under test needs no option for this, because the global functions themselves are
 * replaced.
 *
 * @throws {Error} if another schedule is running, because both would use the same clock
 */
export function virtualTime(simulation: Simulation, random = () => simulation.random.next()): Disposable {
  if (isVirtual) throw new Error('another schedule is running');
  isVirtual = true;
  const addTimer = (run: () => void, delayMs = 1) => {
    const handle = new TimerHandle();
    handle.key = simulation.addTimer(delayMs, `timer ${delayMs.toFixed(3)}`, run);
    return handle;
  };
  const addInterval = (run: () => void, delayMs = 1) => {
    const handle = new TimerHandle();
    const repeat = () => {
      handle.key = simulation.addTimer(delayMs, `interval ${delayMs}`, () => {
        repeat();
        run();
      });
    };
    repeat();
    return handle;
  };
  const addImmediate = (run: () => void) => {
    const handle = new TimerHandle();
    handle.key = simulation.addImmediate('immediate', run);
    return handle;
  };
  const cancel = (handle: TimerHandle | undefined) => {
    if (handle !== undefined) simulation.cancel(handle.key);
  };
  const sleep = (delayMs?: number, value?: unknown) =>
    new Promise((resolve) => void addTimer(() => resolve(value), delayMs));
  const waitForImmediate = (value?: unknown) =>
    new Promise((resolve) => void addImmediate(() => resolve(value)));

  Object.assign(globalThis, {
    setTimeout: addTimer,
    clearTimeout: cancel,
    setInterval: addInterval,
    clearInterval: cancel,
    setImmediate: addImmediate,
    clearImmediate: cancel,
  });
  Object.assign(timers, { setTimeout: sleep, setImmediate: waitForImmediate });
  syncBuiltinESMExports();
  Object.assign(performance, { now: () => simulation.nowMs });
  Object.assign(Math, { random });
  return { [Symbol.dispose]: restore };
}

function restore(): void {
  isVirtual = false;
  Object.assign(globalThis, REAL_TIMERS);
  Object.assign(timers, REAL_PROMISE_TIMERS);
  syncBuiltinESMExports();
  // The real method is a property of the prototype. It is visible when the virtual method is deleted.
  Reflect.deleteProperty(performance, 'now');
  Object.assign(Math, { random: REAL_RANDOM });
}
