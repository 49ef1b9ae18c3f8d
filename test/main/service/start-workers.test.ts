import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ask as askOnce } from '../../failure/ask.ts';
import { ask, connect, KEY, silentServer, stalledCreate } from '../../support/client.ts';
import { Fifo } from '../../support/fifo.ts';
import { flood } from '../../support/flood.ts';
import { freshDatabase, type TestDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { preload, type Program, run, runInJournal, runService, SERVICE } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';

const DONE = { code: 0, signal: null };
const FAILED = { code: 1, signal: null };
const KEY_HINT = /Bearer (pets_\w{66})'/;

type Env = Record<string, string>;

/** A service of two workers on a new database. */
async function runWorkers(
  env: Env = {},
  options: { migrated?: boolean } = {},
): Promise<{ service: Program; database: TestDatabase }> {
  const database = await freshDatabase(mongo!, options);
  return {
    service: runService({ DATABASE_URL: database.url, API_KEYS: KEY, WORKERS: '2', ...env }),
    database,
  };
}

/** Waits for this many workers, and returns their process ids. */
async function workersOf(service: Program, count = 2): Promise<readonly number[]> {
  const lines = await service.loggedTimes(count, 'a worker listens');
  return lines.map(({ pid }) => Number(pid));
}

/** A connection to each worker in turn. */
async function eachWorker<T>(open: () => Promise<T>): Promise<readonly [T, T]> {
  return [await open(), await open()];
}

function messages({ log }: Program): (readonly [unknown, unknown])[] {
  return log.map(({ worker, msg }) => [worker, msg] as const);
}

/** What others can see of processes: command lines and environments. Empty on systems other than Linux. */
async function shownByProc(pids: readonly number[]): Promise<string> {
  if (process.platform !== 'linux') return '';
  const files = pids.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`]);
  return (await Promise.all(files.map((file) => readFile(file, 'utf8')))).join('\n');
}

describe.skipIf(mongo === undefined)(`a service of two workers${leftOut}`, () => {
  it('creates its schema with AUTO_MIGRATE, listens once, and drains both workers', async () => {
    const { service } = await runWorkers({ AUTO_MIGRATE: 'true' }, { migrated: false });
    const url = await service.url();
    expect(await service.logged(/listening on [^"]+/)).toMatchObject({ url, workers: 2 });
    expect(new Set(await workersOf(service)).size).toBe(2);

    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);

    expect(messages(service).slice(0, 3)).toStrictEqual([
      [1, 'a worker listens'],
      [2, 'a worker listens'],
      [undefined, `listening on ${url} (page at ${url}/docs)`],
    ]);
    for (const worker of [undefined, 1, 2]) {
      const own = service.log.filter((line) => line['worker'] === worker).map(({ msg }) => msg);
      expect(own.slice(-2)).toStrictEqual(['shutting down', 'stopped']);
    }
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
    expect(service.stderr).toBe('');
  });

  it('makes one key at its first start, which every worker takes and no other process can see', async () => {
    const { service, database } = await runWorkers({ API_KEYS: '', LOG_LEVEL: 'trace' });
    const [, key = ''] = await service.printed(KEY_HINT, 'stderr');
    const url = await service.url();
    const pids = await workersOf(service);
    const accepted = async () => {
      for (const connection of await eachWorker(() => connect(url))) {
        const close = `Authorization: Bearer ${key}\r\nConnection: close\r\n\r\n`;
        await connection.send(`GET /v1/pets HTTP/1.1\r\nHost: x\r\n${close}`);
        expect(await connection.answer()).toMatchObject({ status: 200, body: '[]' });
      }
    };
    await accepted();
    expect(await shownByProc([...pids, service.pid])).not.toContain(key);
    process.kill(pids[0]!, 'SIGKILL');
    await workersOf(service, 3);
    await accepted();

    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
    expect((service.stdout + service.stderr).split(key)).toHaveLength(2);
    expect(service.log.filter(({ audit }) => audit === 'key.made')).toHaveLength(1);
    expect(await database.db.collection('api_keys').countDocuments()).toBe(0);
  });

  it('makes no key that would get into the journal of systemd', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!);
    const service = runInJournal({ DATABASE_URL, WORKERS: '2' });
    await service.url();
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.stderr).toBe('');
    expect(
      messages(service).filter(([, msg]) => String(msg).startsWith('there is no API key yet')),
    ).toHaveLength(1);
  });

  it('writes each line of its log whole, even to a slow reader', async () => {
    const REQUESTS = 2_000;
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
    service.signal('SIGTERM');
    await fifo.read(/"msg":"stopped"\}\n$/);
    expect(await service.ended).toStrictEqual(DONE);

    const lines = fifo.text.split('\n').slice(0, -1);
    const requests = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(REQUESTS);
    expect(requests).toHaveLength(REQUESTS);
    expect(new Set(requests.map(({ worker }) => worker))).toStrictEqual(new Set([1, 2]));
  });
});

describe.skipIf(mongo === undefined)(`a start of two workers${leftOut}`, () => {
  it('fails in one line on a port in use', async () => {
    const { port: PORT } = await silentServer();
    const { service } = await runWorkers({ PORT });
    expect(await service.ended).toStrictEqual(FAILED);
    expect(service.stderr).toBe(
      `petstore: cannot listen on HOST and PORT: bind EADDRINUSE 127.0.0.1:${PORT}\n`,
    );
    expect(service.stdout).toBe('');
  });

  it('fails in one line, and ends the first worker, when the second one ends', async () => {
    const NODE_OPTIONS = preload('if (cluster.worker?.id === 2) process.exit(7);');
    const { service } = await runWorkers({ NODE_OPTIONS });
    expect(await service.ended).toStrictEqual(FAILED);
    expect(service.stderr).toBe('petstore: a worker ended before it listened (exit code 7)\n');
    expect(messages(service)).toStrictEqual([
      [1, 'a worker listens'],
      [1, 'shutting down'],
      [1, 'stopped'],
    ]);
  });

  it('is ended by a signal while it waits for the storage', async () => {
    const { port, asked } = await silentServer();
    const service = runService({ DATABASE_URL: `mongodb://127.0.0.1:${port}/petstore`, WORKERS: '2' });
    await asked;
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log).toMatchObject([{ msg: 'shutting down', reason: 'SIGTERM' }]);
    expect(service.stderr).toBe('');
  });
});

describe.skipIf(mongo === undefined)(`a worker that ends${leftOut}`, () => {
  it('is replaced by one with the variables of the start, and the others serve meanwhile', async () => {
    const file = join(await testDirectory(), '.env');
    const write = async (key: string) => {
      const { url } = await freshDatabase(mongo!);
      await writeFile(file, `PORT=0\nWORKERS=2\nAPI_KEYS=${key}\nDATABASE_URL=${url}\n`);
    };
    await write(KEY);
    const service = run(process.execPath, [...SERVICE, '--env', file]);
    const url = await service.url();
    const { body } = await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' });
    /** Both workers know the key, and the pet in the database. */
    const serves = async () => {
      const list = () => ask(`${url}/v1/pets`, { headers: { connection: 'close' } });
      for (const answer of await eachWorker(list))
        expect(answer).toMatchObject({ status: 200, body: `[${body}]` });
    };
    const [first] = await workersOf(service);
    await write(`${KEY}-of-later`);
    process.kill(first!, 'SIGKILL');
    const ended = await service.logged('a worker has ended; another one follows');
    expect(ended).toMatchObject({
      level: 50,
      worker: 1,
      pid: first,
      code: null,
      signal: 'SIGKILL',
      pauseMs: 100,
    });
    await serves();
    await workersOf(service, 3);
    await serves();

    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log.filter(({ msg }) => msg === 'a worker has ended; another one follows')).toHaveLength(
      1,
    );
  });

  it('has finished its requests when a signal or a bug ends it', async () => {
    const { service } = await runWorkers({
      NODE_OPTIONS: preload("process.on('SIGUSR2', () => { throw new TypeError('boom'); });"),
    });
    const url = await service.url();
    const pids = await workersOf(service);
    const stalled = await eachWorker(() => stalledCreate(url));
    process.kill(pids[0]!, 'SIGTERM');
    await service.logged('shutting down');
    expect(await stalled[0].complete()).toMatchObject({ status: 201, connection: 'close' });
    await workersOf(service, 3);
    process.kill(pids[1]!, 'SIGUSR2');
    await service.logged('stopping because of a bug');
    expect(await stalled[1].complete()).toMatchObject({ status: 201, connection: 'close' });
    await workersOf(service, 4);
    const ends = service.log.filter(({ msg }) => msg === 'a worker has ended; another one follows');
    expect(ends.map(({ worker, code }) => [worker, code])).toStrictEqual([
      [1, 0],
      [2, 1],
    ]);
    expect((await ask(`${url}/v1/pets`)).status).toBe(200);
  });

  it('loses no request on a new connection when it drains', async () => {
    const RESTARTS = 2;
    const { service } = await runWorkers();
    const url = await service.url();
    const agent = new Agent({ keepAlive: false });
    const statuses = new Map<unknown, number>();
    const request = async () => {
      const outcome = await askOnce(`${url}/livez`, { agent }).then(({ status }) => status, String);
      statuses.set(outcome, (statuses.get(outcome) ?? 0) + 1);
    };
    /** Clients send requests without a pause until the work is done. */
    const underLoad = async (work: () => Promise<unknown>) => {
      const over = new AbortController();
      const clients = Array.from({ length: 8 }, async () => {
        while (!over.signal.aborted) await request();
      });
      await request();
      await work();
      over.abort();
      await Promise.all(clients);
    };
    for (let restart = 0; restart < RESTARTS; restart++) {
      const pids = await workersOf(service, 2 + restart);
      await underLoad(async () => {
        process.kill(pids[restart]!, 'SIGTERM');
        await service.loggedTimes(restart + 1, 'a worker has ended; another one follows');
        // Once also while another one begins to listen. It starts slowly under load.
        if (restart + 1 === RESTARTS) await workersOf(service, 2 + RESTARTS);
      });
    }
    expect([...statuses.keys()]).toStrictEqual([200]);
    expect(statuses.get(200)).toBeGreaterThan(50);
  });

  it('is replaced after pauses that double while none can start, and no more after the signal to stop', async () => {
    const { service, database } = await runWorkers();
    await service.url();
    const [first] = await workersOf(service);
    const schema = database.db.collection('schema');
    await schema.updateOne({}, { $inc: { version: 1 } });
    process.kill(first!, 'SIGKILL');
    // The pause of 800 ms has begun.
    await service.loggedTimes(4, 'a worker has ended; another one follows');
    service.signal('SIGTERM');
    expect(await service.ended).toStrictEqual(DONE);

    const ends = service.log.filter(({ msg }) => msg === 'a worker has ended; another one follows');
    expect(ends).toMatchObject([
      { worker: 1, signal: 'SIGKILL', pauseMs: 100 },
      ...[200, 400, 800].map((pauseMs) => ({
        pauseMs,
        problems: [expect.stringContaining('run a newer build of petstore')],
      })),
    ]);
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
    expect(service.stderr).toBe('');
  });
});

describe.skipIf(mongo === undefined)(`the end of two workers${leftOut}`, () => {
  it.each(['SIGINT', 'SIGHUP'] as const)('lets requests in flight finish: %s', async (signal) => {
    const { service } = await runWorkers();
    const stalled = await service.url().then((url) => eachWorker(() => stalledCreate(url)));
    // The terminal sends the signal of Ctrl-C to every process, and npm sends it once more.
    process.kill(-service.pid, signal);
    await service.loggedTimes(3, 'shutting down');
    service.signal(signal);
    for (const { complete } of stalled) {
      expect(await complete()).toMatchObject({ status: 201, connection: 'close' });
    }
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log.filter(({ msg }) => msg === 'shutting down')).toHaveLength(3);
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
  });

  it('counts the connections that all workers cut off, of which MAX_CONNECTIONS may be open', async () => {
    const { service } = await runWorkers({ SHUTDOWN_TIMEOUT: '100ms', MAX_CONNECTIONS: '2' });
    const url = await service.url();
    const stalled = await eachWorker(() => stalledCreate(url));
    await (await connect(url)).closed();
    await service.logged('connections refused: as many as MAX_CONNECTIONS are open');
    service.signal('SIGTERM');
    for (const { cutOff } of stalled) await cutOff();
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 2 });
  });

  it('exits with 1 when a worker does not end properly', async () => {
    const { service } = await runWorkers();
    const stalled = await service.url().then((url) => eachWorker(() => stalledCreate(url)));
    const [first] = await workersOf(service);
    service.signal('SIGTERM');
    await service.loggedTimes(3, 'shutting down');
    process.kill(first!, 'SIGKILL');
    await stalled[0].cutOff();
    expect(await stalled[1].complete()).toMatchObject({ status: 201 });
    expect(await service.ended).toStrictEqual(FAILED);
  });

  it('does not wait for a worker that hangs', async () => {
    const { service } = await runWorkers({
      SHUTDOWN_TIMEOUT: '0s',
      NODE_OPTIONS: preload("process.on('SIGUSR2', () => { for (;;); });"),
    });
    await service.url();
    const [first] = await workersOf(service);
    process.kill(first!, 'SIGUSR2');
    service.signal('SIGTERM');
    // The worker is gone as well: it shares the standard error.
    expect(await service.ended).toStrictEqual(FAILED);
    expect(service.log.at(-1)).toMatchObject({ level: 60, msg: 'still not stopped, giving up' });
  });

  it('comes when the primary process is killed, after the requests in flight', async () => {
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
});
