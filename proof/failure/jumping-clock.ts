/**
 * A module for `node --import`. At each SIGUSR2 it moves the clock of the process, as a correction of the time of day
 * does. All code that reads `Date` sees the move. Monotonic time does not move. `Date` becomes a proxy, because with a
 * subclass `instanceof Date` would be false for the dates that Node creates itself.
 */
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** The error of the clock after the first, the second … signal. After the last one it begins again with the first. */
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
