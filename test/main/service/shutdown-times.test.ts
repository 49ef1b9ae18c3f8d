import { expect, it } from 'vitest';
import { KEY, stalledCreate } from '../../support/client.ts';
import { preload, runService } from '../../support/process.ts';

/** The clock of the service stands still. On SIGUSR2 it jumps from one long timer to the next. */
const JUMPING_CLOCK = preload(`
  const { setTimeout, clearTimeout, setImmediate } = globalThis;
  let nowMs = 0;
  const timers = new Set();
  Date.now = () => nowMs;
  globalThis.setTimeout = (run, ms, ...args) => {
    if (ms < 1_000) return setTimeout(run, ms, ...args);
    const timer = { atMs: nowMs + ms, run, unref: () => timer };
    timers.add(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => timers.delete(timer) || clearTimeout(timer);
  const jump = () => {
    const [next] = [...timers].sort((a, b) => a.atMs - b.atMs);
    if (next === undefined) return;
    timers.delete(next);
    nowMs = next.atMs;
    next.run();
    // The sockets that it has closed tell so within some turns.
    let turns = 50;
    const wait = () => (turns-- > 0 ? setImmediate(wait) : jump());
    wait();
  };
  process.on('SIGUSR2', jump);
  // Keeps the process alive after the drain.
  setInterval(() => {}, 1_000);`);

it('accepts for SHUTDOWN_DELAY, cuts off after SHUTDOWN_TIMEOUT more, and ends at most 3 s after both', async () => {
  const service = runService({ API_KEYS: KEY, SHUTDOWN_DELAY: '10s', NODE_OPTIONS: JUMPING_CLOCK });
  const { cutOff } = await stalledCreate(await service.url());
  service.signal('SIGTERM');
  await service.logged('shutting down');
  service.signal('SIGUSR2');
  await cutOff();

  expect(await service.ended).toStrictEqual({ code: 1, signal: null });
  expect(service.log.at(-1)).toMatchObject({ level: 60 });
  const lines = service.log.map(({ msg, time, cutOff: count }) => [msg, time, count]);
  expect(lines.filter(([msg]) => /shut|stopped/.test(String(msg)))).toStrictEqual([
    ['shutting down', 0, undefined],
    ['stopped', 35_000, 1],
    ['still not stopped, giving up', 38_000, undefined],
  ]);
});
