import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openMongoArchive } from '../../../src/adapters/mongodb/open.ts';
import { openSqliteKeys } from '../../../src/adapters/sqlite/open.ts';
import { keyMint, mintKey } from '../../../src/adapters/tokens/token.ts';
import { CreateKey } from '../../../src/application/keys/create-key.ts';
import { SCOPES } from '../../../src/domain/api-key.ts';
import { readConfig } from '../../../src/main/config/config.ts';
import { type Service, start } from '../../../src/main/service/start.ts';
import { addressOf, freshDatabase, throughPort } from '../../support/mongo-database.ts';
import { sharedMongo } from '../../support/mongodb.ts';
import { type Program, runService } from '../../support/process.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { ask, CREATED, KEY, silentServer, stalledCreate } from '../../support/client.ts';

const mongo = await sharedMongo();
const leftOut = mongo === undefined ? ' (left out: no server)' : '';

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';
const STORED = `{"id":1,${PET.slice(1)}`;

/** A service in this process, with its log. */
async function started(env: Record<string, string> = {}): Promise<Service & { log: string[] }> {
  const log: string[] = [];
  const config = readConfig({ PORT: '0', API_KEYS: KEY, DATABASE_URL: 'memory:', ...env });
  const service = await start(
    config,
    pino({ level: config.logLevel }, { write: (line) => void log.push(line) }),
  );
  onTestFinished(async () => void (await service.stop()));
  return { ...service, log };
}

async function stopped(service: Program): Promise<void> {
  service.signal('SIGTERM');
  expect(await service.ended).toStrictEqual({ code: 0, signal: null });
}

describe('a service with its pets in memory', () => {
  it('adds, lists and gets', async () => {
    const { url } = await started();
    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201, body: STORED });
    expect(await ask(`${url}/v1/pets?status=sold`)).toMatchObject({ status: 200, body: `[${STORED}]` });
    expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 200, body: STORED });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200 });
  });

  it('forgets them when it stops', async () => {
    const first = await started();
    await ask(`${first.url}/v1/pets`, { body: PET });
    await first.stop();
    const { url } = await started();
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  });

  it('builds absolute URLs from PUBLIC_URL', async () => {
    const { url } = await started({ PUBLIC_URL: 'https://petstore.example/api/' });
    for (let i = 0; i < 2; i++) await ask(`${url}/v1/pets`, { body: PET });
    const { headers } = await ask(`${url}/v1/pets?limit=1`);
    expect(headers['link']).toMatch(
      /^<https:\/\/petstore\.example\/api\/v1\/pets\?limit=1&cursor=[^>]+>; rel="next"$/,
    );
  });

  it('reports its requests to the log that it was given', async () => {
    const { url, log, stop } = await started({ API_KEYS: `ci=${KEY}` });
    await ask(`${url}/v1/pets`, { headers: { 'x-request-id': 'mine' } });
    await stop();
    expect(log.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'request', requestId: 'mine', keyLabel: 'ci' },
    ]);
  });

  it('goes by the clock that it was given', async () => {
    const service = await start(
      readConfig({ PORT: '0', API_KEYS: KEY, DATABASE_URL: 'memory:' }),
      pino({ level: 'silent' }),
      {
        now: () => new Date('2030-12-05T00:00:00Z'),
      },
    );
    onTestFinished(async () => void (await service.stop()));
    expect(await ask(`${service.url}/v1/pets/1`)).toMatchObject({ status: 410 });
  });

  it('stops once, however often it is told to', async () => {
    const { stop } = await started();
    const stopping = stop();
    expect(stop()).toBe(stopping);
    expect(await stopping).toBe(0);
    expect(await stop()).toBe(0);
  });

  it('does not load the MongoDB driver, which a service with MongoDB does', async () => {
    const hook = `
      import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) {
        if (url.includes('/node_modules/mongodb/')) process.stderr.write('loaded ' + url + '\\n');
        return next(url, context);
      } });`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hook)}`;

    const inMemory = runService({ API_KEYS: KEY, NODE_OPTIONS });
    const url = await inMemory.url();
    await ask(`${url}/v1/pets`, { body: PET });
    await stopped(inMemory);
    expect(inMemory.stderr).toBe('');

    const DATABASE_URL = 'mongodb://127.0.0.1:1/petstore?serverSelectionTimeoutMS=1';
    const withMongo = runService({ API_KEYS: KEY, NODE_OPTIONS, DATABASE_URL });
    await withMongo.ended;
    expect(withMongo.stderr).toMatch(/^loaded file:.*\/node_modules\/mongodb\/lib\//m);
  });
});

describe('a service with its keys in the storage', () => {
  it('writes down when they were last used, behind the requests', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-start-'));
    onTestFinished(async () => rm(directory, { recursive: true }));
    const file = join(directory, 'petstore.db');
    const { keys, close } = await openSqliteKeys(file);
    onTestFinished(close);
    const now = () => new Date('2026-12-24T12:00:00Z');
    const { token, key } = await new CreateKey(keys, keyMint, now).execute({ label: 'x', scopes: SCOPES });

    const service = await start(
      readConfig({ PORT: '0', DATABASE_URL: `sqlite:${file}` }),
      pino({ level: 'silent' }),
      { now, recordUsesEveryMs: 10 },
    );
    onTestFinished(async () => void (await service.stop()));
    expect((await ask(`${service.url}/v1/pets`, { key: token })).status).toBe(200);
    const used = async () => (await keys.findById(key.id))?.lastUsedAt;
    await vi.waitUntil(used, { timeout: 5_000 });
    expect(await used()).toStrictEqual(now());
  });

  it('writes it down at the end at the latest', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'petstore-start-'));
    onTestFinished(async () => rm(directory, { recursive: true }));
    const file = join(directory, 'petstore.db');
    const { keys, close } = await openSqliteKeys(file);
    onTestFinished(close);
    const now = () => new Date();
    const { token, key } = await new CreateKey(keys, keyMint, now).execute({ label: 'x', scopes: SCOPES });

    const service = await started({ API_KEYS: '', DATABASE_URL: `sqlite:${file}` });
    expect((await ask(`${service.url}/v1/pets`, { key: token })).status).toBe(200);
    await service.stop();
    expect((await keys.findById(key.id))?.lastUsedAt).toBeInstanceOf(Date);
  });

  it.skipIf(mongo === undefined)('answers 503 when it cannot know a key, and lets nobody in', async () => {
    const { url } = await freshDatabase(mongo!);
    const { keys, close } = await openMongoArchive(url);
    onTestFinished(close);
    const now = () => new Date();
    const { token } = await new CreateKey(keys, keyMint, now).execute({ label: 'x', scopes: SCOPES });
    const proxy = await new TcpProxy(addressOf(url)).listen();
    onTestFinished(async () => proxy.close());
    const service = await started({ DATABASE_URL: throughPort(url, proxy.port) });
    proxy.stall();
    const unknown = mintKey().token;
    const answers = [token, unknown].map(async (key) => ask(`${service.url}/v1/pets`, { key }));
    for (const answer of await Promise.all(answers)) {
      expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    }
    // What cannot be a key needs nobody's word.
    expect((await ask(`${service.url}/v1/pets`, { key: `${token}x` })).status).toBe(401);
    proxy.resume();
    const again = [token, unknown].map(async (key) => ask(`${service.url}/v1/pets`, { key }));
    expect((await Promise.all(again)).map(({ status }) => status)).toStrictEqual([200, 401]);
  });
});

describe.skipIf(mongo === undefined)(`a service with its pets in MongoDB${leftOut}`, () => {
  it('makes its schema when it may, and has the pets again after a restart', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!, { migrated: false });

    const first = runService({ API_KEYS: KEY, DATABASE_URL, AUTO_MIGRATE: 'true' });
    const url = await first.url();
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200 });
    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({
      status: 201,
      headers: { location: '/v1/pets/1' },
      body: STORED,
    });
    expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 200, body: STORED });
    await stopped(first);

    const second = runService({ API_KEYS: KEY, DATABASE_URL });
    expect(await ask(`${await second.url()}/v1/pets/1`)).toMatchObject({ status: 200, body: STORED });
    expect(await ask(`${await second.url()}/v1/pets?status=sold`)).toMatchObject({ body: `[${STORED}]` });
    expect(await ask(`${await second.url()}/v1/pets`, { body: PET })).toMatchObject({
      headers: { location: '/v1/pets/2' },
    });
    await stopped(second);
  });

  it('does not start without a schema, and says what to run; that can be run twice', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!, { migrated: false });

    const refused = runService({ API_KEYS: KEY, DATABASE_URL });
    expect(await refused.ended).toStrictEqual({ code: 1, signal: null });
    expect(refused.stdout).toBe('');
    expect(refused.stderr).toBe(
      `petstore: the database "${db.databaseName}" has no petstore schema; run: npm run petstore -- migrate\n`,
    );

    for (const before of ['before: none', 'as before']) {
      const migrated = runService({ DATABASE_URL }, ['migrate']);
      expect(await migrated.ended).toStrictEqual({ code: 0, signal: null });
      expect(migrated.stdout).toBe(`the database "${db.databaseName}" has schema version 3 (${before})\n`);
      expect(migrated.stderr).toBe('');
    }

    const url = await runService({ API_KEYS: KEY, DATABASE_URL }).url();
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  });

  it('does not start on the schema of a newer build', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    await db.collection('schema').updateOne({}, { $set: { version: 4 } });
    for (const args of [[], ['migrate']]) {
      const refused = runService({ API_KEYS: KEY, DATABASE_URL, AUTO_MIGRATE: 'true' }, args);
      expect(await refused.ended).toStrictEqual({ code: 1, signal: null });
      expect(refused.stderr).toBe(
        `petstore: the database "${db.databaseName}" has schema version 4, this build needs 3; run a newer build of petstore\n`,
      );
    }
  });

  it('keeps the storage open until the last request in flight has its answer', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    const service = runService({ API_KEYS: KEY, DATABASE_URL });
    const { complete } = await stalledCreate(await service.url());

    service.signal('SIGTERM');
    await service.logged('shutting down');

    expect(await complete()).toStrictEqual(CREATED);
    // By itself: nothing of the storage is left to keep the process alive.
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(await db.collection('pets').countDocuments()).toBe(1);
  });

  it('closes the storage again when it cannot listen, so that the process ends', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!);
    const { port: PORT } = await silentServer();

    const service = runService({ API_KEYS: KEY, DATABASE_URL, PORT });

    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.stderr).toMatch(/^petstore: .* EADDRINUSE: .*\n$/);
  });
});
