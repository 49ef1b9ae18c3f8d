/**
 * A module for `node --import`. At each SIGUSR2 it changes the time of day that all code of the process reads from
 * `Date`. The operator of a machine can change its time of day in the same way. Monotonic time, such as
 * `performance.now()`, does not change. `Date` becomes a proxy, because with a subclass `instanceof Date` would be
 * false for the dates that Node creates itself.
 */
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** The error of the clock after each signal. The signal after the last offset applies the first offset again. */
const OFFSETS_MS = [HOUR_MS, -HOUR_MS, YEAR_MS, -YEAR_MS, 0] as const;

const RealDate = Date;
let jumpCount = 0;
let offsetMs = 0;
const now = () => RealDate.now() + offsetMs;

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (_, args, newTarget) =>
    Reflect.construct(RealDate, args.length === 0 ? [now()] : args, newTarget) as Date,
  get: (target, property) => (property === 'now' ? now : Reflect.get(target, property)),
});

process.on('SIGUSR2', () => {
  offsetMs = OFFSETS_MS[jumpCount++ % OFFSETS_MS.length] ?? 0;
});
