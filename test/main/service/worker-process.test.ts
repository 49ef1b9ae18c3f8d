import { Agent } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ask as askOnce } from '../../../proof/failure/ask.ts';
import { connect, KEY, stalledCreate } from '../../support/client.ts';
import { Fifo } from '../../support/fifo.ts';
import { flood } from '../../support/flood.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { preload, run, runInJournal, SERVICE } from '../../support/process.ts';
import { eachWorker, ENDED, runWorkers, workersOf } from '../../support/workers.ts';

const DONE = { code: 0, signal: null };
const FAILED = { code: 1, signal: null };

/** Clients send requests on new connections, without a pause, until the work is done. Resolves with the outcomes. */
async function underLoad(url: string, work: () => Promise<unknown>): Promise<readonly unknown[]> {
  const outcomes: unknown[] = [];
  const agent = new Agent({ keepAlive: false });
  const request = async () => {
    outcomes.push(await askOnce(`${url}/livez`, { agent }).then(({ status }) => status, String));
  };
  const over = new AbortController();
  const clients = Array.from({ length: 8 }, async () => {
    while (!over.signal.aborted) await request();
  });
  await request();
  await work();
  over.abort();
  await Promise.all(clients);
  return outcomes;
}

describe.skipIf(mongo === undefined)(`a worker process${leftOut}`, () => {
  it('writes each line of its log whole, even to a slow reader', async () => {
    const REQUESTS = 1_000;
    const fifo = await Fifo.make();
    onTestFinished(() => fifo[Symbol.asyncDispose]());
    const { url: DATABASE_URL } = await freshDatabase(mongo!);
    const service = run('bash', ['-c', `exec '${process.execPath}' ${SERVICE.join(' ')} > '${fifo.path}'`], {
      PORT: '0',
      DATABASE_URL,
      API_KEYS: KEY,
      WORKERS: '2',
    });
    const [, url = ''] = await fifo.read(/listening on (http:[\d./:]+)/);
    const headers = (n: number) => ({ 'x-request-id': `${n}-${'x'.repeat(40)}` });
    await flood(`${url}/livez`, REQUESTS, { status: 200, headers });
    // And three about the start. At exit, lines would wait for a slow reader no longer than half a second.
    await fifo.read(new RegExp(`^(?:.*\n){${REQUESTS + 3}}`));
    service.signal('SIGTERM');
    await fifo.read(/"msg":"stopped"\}\n$/);
    expect(await service.ended).toStrictEqual(DONE);

    const lines = fifo.text.split('\n').slice(0, -1);
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(REQUESTS);
    expect(requests).toHaveLength(REQUESTS);
    expect(new Set(requests.map(({ worker }) => worker))).toStrictEqual(new Set([1, 2]));
  });

  it('makes no key that would get into the journal of systemd, and delays no stop if it hangs', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!);
    // The primary process does not wait for three seconds before it gives up.
    const NODE_OPTIONS = preload(`
      const { setTimeout } = globalThis;
      globalThis.setTimeout = (run, ms, ...args) => setTimeout(run, ms === 3_000 ? 1 : ms, ...args);
      process.on('SIGUSR2', () => { for (;;); });`);
    const service = runInJournal({ DATABASE_URL, WORKERS: '2', SHUTDOWN_TIMEOUT: '0s', NODE_OPTIONS });
    await service.url();
    const [first] = await workersOf(service);
    process.kill(first!, 'SIGUSR2');
    service.signal('SIGTERM');
    // The worker is gone as well: it shares the standard error.
    expect(await service.ended).toStrictEqual(FAILED);
    const ofPrimary = service.log.filter(({ worker }) => worker === undefined);
    expect(ofPrimary.map(({ msg }) => msg)).toContain('still not stopped, giving up');
    expect(service.stderr).toBe('');
    const noKey = service.log.filter(({ msg }) => String(msg).startsWith('there is no API key yet'));
    expect(noKey).toHaveLength(1);
  });

  it('finishes its requests when the primary process is killed', async () => {
    const { service } = await runWorkers();
    const url = await service.url();
    const stalled = await eachWorker(() => stalledCreate(url));
    const idle = await eachWorker(() => connect(url));
    for (const connection of idle) {
      await connection.send('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
      expect(await connection.answer()).toMatchObject({ status: 200 });
    }
    service.signal('SIGKILL');
    // A worker that drains closes its idle connections.
    for (const connection of idle) await connection.closed();
    for (const { complete } of stalled) {
      expect(await complete()).toMatchObject({ status: 201, connection: 'close' });
    }
    // The workers have ended too: they share its standard error.
    expect(await service.ended).toStrictEqual({ code: null, signal: 'SIGKILL' });
    expect(service.stderr).toMatch(/^(?:petstore: \d log lines were lost, 1 of them audit lines\n){2}$/);
  });

  it('that a signal or a bug ends loses no request, and is replaced after growing pauses', async () => {
    const NODE_OPTIONS = preload("process.on('SIGUSR2', () => { throw new TypeError('boom'); });");
    const { service, database } = await runWorkers({ NODE_OPTIONS });
    const url = await service.url();
    const pids = await workersOf(service);
    const stalled = await eachWorker(() => stalledCreate(url));
    const signalled = await underLoad(url, async () => {
      process.kill(pids[0]!, 'SIGTERM');
      await service.logged('shutting down');
      expect(await stalled[0].complete()).toMatchObject({ status: 201, connection: 'close' });
      await service.loggedTimes(1, ENDED);
    });
    const [, , third] = await workersOf(service, 3);
    const broken = await underLoad(url, async () => {
      process.kill(pids[1]!, 'SIGUSR2');
      await service.logged('stopping because of a bug');
      expect(await stalled[1].complete()).toMatchObject({ status: 201, connection: 'close' });
      // Also while another one begins to listen. It starts slowly under load.
      await workersOf(service, 4);
    });
    expect(new Set([...signalled, ...broken])).toStrictEqual(new Set([200]));
    expect(signalled.length + broken.length).toBeGreaterThan(50);

    await database.db.collection('schema').updateOne({}, { $inc: { version: 1 } });
    process.kill(third!, 'SIGKILL');
    // The pause of 800 ms has begun.
    await service.loggedTimes(5, ENDED);
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log.filter(({ msg }) => msg === ENDED)).toMatchObject([
      { worker: 1, code: 0, pauseMs: 100 },
      { worker: 2, code: 1, pauseMs: 100 },
      { worker: 3, signal: 'SIGKILL', pauseMs: 200 },
      { pauseMs: 400, problems: [expect.stringContaining('run a newer build of petstore')] },
      { pauseMs: 800, problems: [expect.stringContaining('run a newer build of petstore')] },
    ]);
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
    expect(service.stderr).toBe('');
  });
});
