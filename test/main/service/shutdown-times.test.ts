import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, KEY, startStalledCreate } from '../../support/client.ts';
import { preload, runService } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

/** Stops the clock of the service. On SIGUSR2, the clock jumps to the end of each timer of at least 1 s, one by one. */
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
    // Sockets that the timer has closed report this within a few turns of the event loop.
    let turns = 50;
    const wait = () => (turns-- > 0 ? setImmediate(wait) : jump());
    wait();
  };
  process.on('SIGUSR2', jump);
  // This timer keeps the event loop alive, so that only the shutdown can end the process.
  setInterval(() => {}, 1_000);`);

/** Simulates a disk on which no flush ends. */
const FLUSHES_NEVER_END = preload(`
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  fs.fdatasync = () => console.log('{"msg":"flush"}');
  syncBuiltinESMExports();`);

it('a shutdown accepts requests for SHUTDOWN_DELAY, cuts off the remaining requests SHUTDOWN_TIMEOUT later, and then ends', async () => {
  const service = runService({ API_KEYS: KEY, SHUTDOWN_DELAY: '10s', NODE_OPTIONS: JUMPING_CLOCK });
  const { cutOff } = await startStalledCreate(await service.url());
  service.signal('SIGTERM');
  await service.logged('shutting down');
  service.signal('SIGUSR2');
  await cutOff();

  expect(await service.ended).toStrictEqual({ code: 0, signal: null });
  const lines = service.log.map(({ msg, time, cutOff: count }) => [msg, time, count]);
  expect(lines.filter(([msg]) => /shut|stopped/.test(String(msg)))).toStrictEqual([
    ['shutting down', 0, undefined],
    ['stopped', 35_000, 1],
  ]);
});

it('a shutdown waits 3 s for a storage that does not close', async () => {
  const DATABASE_URL = `sqlite:${join(await testDirectory(), 'petstore.db')}`;
  const NODE_OPTIONS = `${JUMPING_CLOCK} ${FLUSHES_NEVER_END}`;
  const service = runService({ API_KEYS: KEY, DATABASE_URL, NODE_OPTIONS });
  const creating = ask(`${await service.url()}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' });
  creating.catch(() => {});
  await service.logged('flush');
  service.signal('SIGTERM');
  await service.logged('shutting down');
  service.signal('SIGUSR2');

  expect(await service.ended).toStrictEqual({ code: 1, signal: null });
  expect(service.log.at(-1)).toMatchObject({
    level: 60,
    time: 28_000,
    msg: 'the shutdown has not ended in time; this process ends now',
  });
});
