/**
 * For `node --import`: moves the clock of a process at each SIGUSR2, as a correction of the time of day does.
 * Everything that reads `Date` sees it; monotonic time goes on. A proxy and not a subclass: `instanceof Date` stays true of dates
 * that were made elsewhere.
 */
const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

/** How far the clock is off after each signal, in turn. */
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
