import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ask, connect, KEY, silentServer, stalledCreate } from '../../support/client.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { preload, type Program, run, SERVICE } from '../../support/process.ts';
import { testDirectory } from '../../support/test-directory.ts';
import { eachWorker, ENDED, runWorkers, workersOf } from '../../support/workers.ts';

const DONE = { code: 0, signal: null };
const FAILED = { code: 1, signal: null };
const KEY_HINT = /Bearer (pets_\w{66})'/;

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
  it('creates its schema, listens once, replaces a worker as it was, and drains all at Ctrl-C', async () => {
    const file = join(await testDirectory(), '.env');
    const write = async (key: string) => {
      const database = await freshDatabase(mongo!, { migrated: false });
      const variables = `PORT=0\nWORKERS=2\nAUTO_MIGRATE=true\nAPI_KEYS=${key}`;
      await writeFile(file, `${variables}\nDATABASE_URL=${database.url}\n`);
    };
    await write(KEY);
    const service = run(process.execPath, [...SERVICE, '--env', file]);
    const url = await service.url();
    expect(await service.logged(/listening on [^"]+/)).toMatchObject({ url, workers: 2 });
    expect(messages(service)).toStrictEqual([
      [1, 'a worker listens'],
      [2, 'a worker listens'],
      [undefined, `listening on ${url} (page at ${url}/docs)`],
    ]);
    const [first, second] = await workersOf(service);
    expect(first).not.toBe(second);

    const { body } = await ask(`${url}/v1/pets`, { body: '{"name":"Rex","categoryId":7}' });
    /** Both workers know the key, and the pet in the database. */
    const serves = async () => {
      const list = () => ask(`${url}/v1/pets`, { headers: { connection: 'close' } });
      for (const answer of await eachWorker(list))
        expect(answer).toMatchObject({ status: 200, body: `[${body}]` });
    };
    await write(`${KEY}-of-later`);
    process.kill(first!, 'SIGKILL');
    const end = { level: 50, worker: 1, pid: first, code: null, signal: 'SIGKILL', pauseMs: 100 };
    expect(await service.logged(ENDED)).toMatchObject(end);
    await serves();
    await workersOf(service, 3);
    await serves();

    const stalled = await eachWorker(() => stalledCreate(url));
    // The terminal sends the signal of Ctrl-C to every process, and npm sends it once more.
    process.kill(-service.pid, 'SIGINT');
    await service.loggedTimes(3, 'shutting down');
    service.signal('SIGINT');
    for (const { complete } of stalled) {
      expect(await complete()).toMatchObject({ status: 201, connection: 'close' });
    }
    expect(await service.ended).toStrictEqual(DONE);
    const told = messages(service).filter(([, msg]) => msg === 'shutting down' || msg === 'stopped');
    for (const worker of [undefined, 2, 3]) {
      const own = told.filter(([of]) => of === worker).map(([, msg]) => msg);
      expect(own).toStrictEqual(['shutting down', 'stopped']);
    }
    expect(service.log.filter(({ msg }) => msg === ENDED)).toHaveLength(1);
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 0 });
    expect(service.stderr).toBe('');
  });

  it('makes one key, for every worker and no other process, and exits with 1 if one is killed', async () => {
    const { service, database } = await runWorkers({ API_KEYS: '', LOG_LEVEL: 'trace' });
    const [, key = ''] = await service.printed(KEY_HINT, 'stderr');
    const url = await service.url();
    const pids = await workersOf(service);
    const accepted = async () => {
      const list = () => ask(`${url}/v1/pets`, { key, headers: { connection: 'close' } });
      for (const answer of await eachWorker(list)) expect(answer).toMatchObject({ status: 200, body: '[]' });
    };
    await accepted();
    expect(await shownByProc([...pids, service.pid])).not.toContain(key);
    process.kill(pids[0]!, 'SIGKILL');
    await workersOf(service, 3);
    await accepted();

    const stalled = await eachWorker(() => stalledCreate(url, key));
    service.signal('SIGTERM');
    await service.loggedTimes(3, 'shutting down');
    process.kill(pids[1]!, 'SIGKILL');
    const completed = await Promise.allSettled(stalled.map(({ complete }) => complete()));
    expect(completed.map(({ status }) => status).toSorted()).toStrictEqual(['fulfilled', 'rejected']);
    expect(await service.ended).toStrictEqual(FAILED);
    expect((service.stdout + service.stderr).split(key)).toHaveLength(2);
    expect(service.log.filter(({ audit }) => audit === 'key.made')).toHaveLength(1);
    expect(await database.db.collection('api_keys').countDocuments()).toBe(0);
  });

  it('opens MAX_CONNECTIONS, and counts the connections that all workers cut off at SIGHUP', async () => {
    const { service } = await runWorkers({ SHUTDOWN_TIMEOUT: '100ms', MAX_CONNECTIONS: '2' });
    const url = await service.url();
    const stalled = await eachWorker(() => stalledCreate(url));
    await (await connect(url)).closed();
    await service.logged('connections refused: as many as MAX_CONNECTIONS are open');
    process.kill(-service.pid, 'SIGHUP');
    for (const { cutOff } of stalled) await cutOff();
    expect(await service.ended).toStrictEqual(DONE);
    expect(service.log.filter(({ msg }) => msg === 'shutting down')).toHaveLength(3);
    expect(service.log.at(-1)).toMatchObject({ msg: 'stopped', cutOff: 2 });
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
});
