import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openMongoArchive } from '../../../src/adapters/mongodb/open.ts';
import { openSqliteKeys } from '../../../src/adapters/sqlite/open.ts';
import { mintKey } from '../../../src/adapters/tokens/token.ts';
import { CreateKey } from '../../../src/application/keys/create-key.ts';
import type { ApiKeyRepository } from '../../../src/application/ports/api-key-repository.ts';
import { StorageSetupError } from '../../../src/application/ports/storage-errors.ts';
import { SCOPES } from '../../../src/domain/api-key.ts';
import { ask, CREATED, KEY, silentServer, stalledCreate } from '../../support/client.ts';
import { refused, succeeds } from '../../support/command.ts';
import { addressOf, freshDatabase, throughPort } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';
import { type Program, runService } from '../../support/process.ts';
import { startService } from '../../support/service.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { testDirectory } from '../../support/test-directory.ts';

const PET = '{"name":"Rex","categoryId":-9223372036854775808,"status":"sold"}';
const STORED = `{"id":1,${PET.slice(1)}`;

async function stopped(service: Program): Promise<void> {
  service.signal('SIGTERM');
  expect(await service.ended).toStrictEqual({ code: 0, signal: null });
}

/** Stores a new key, which has every scope. */
function createKey(keys: ApiKeyRepository, now = () => new Date()) {
  return new CreateKey(keys, mintKey, now).execute({ label: 'x', scopes: SCOPES });
}

describe('a service with its pets in memory', () => {
  it('adds, lists and gets', async () => {
    const { url } = await startService();
    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ status: 201, body: STORED });
    expect(await ask(`${url}/v1/pets?status=sold`)).toMatchObject({ status: 200, body: `[${STORED}]` });
    expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 200, body: STORED });
    expect(await ask(`${url}/readyz`)).toMatchObject({ status: 200 });
  });

  it('forgets its pets when it stops', async () => {
    const first = await startService();
    await ask(`${first.url}/v1/pets`, { body: PET });
    await first.stop();
    const { url } = await startService();
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  });

  it('builds absolute URLs from PUBLIC_URL', async () => {
    const { url } = await startService({ PUBLIC_URL: 'https://petstore.example/api/' });
    for (let i = 0; i < 2; i++) await ask(`${url}/v1/pets`, { body: PET });
    const { headers } = await ask(`${url}/v1/pets?limit=1`);
    expect(headers['link']).toMatch(
      /^<https:\/\/petstore\.example\/api\/v1\/pets\?limit=1&cursor=[^>]+>; rel="next"$/,
    );
    const created = await ask(`${url}/v1/pets`, { body: PET });
    expect(created.headers['location']).toBe('/api/v1/pets/3');
    const { body } = await ask(`${url}/openapi.json`);
    expect(JSON.parse(body)).toMatchObject({ servers: [{ url: 'https://petstore.example/api/v1' }] });
  });

  it('writes its requests to the given log', async () => {
    const { url, log, stop } = await startService({ API_KEYS: `ci=${KEY}` });
    await ask(`${url}/v1/pets`, { headers: { 'x-request-id': 'mine' } });
    await stop();
    expect(log).toMatchObject([{ msg: 'request', requestId: 'mine', keyLabel: 'ci' }]);
  });

  it('uses the given clock', async () => {
    const { url } = await startService({}, { now: () => new Date('2030-12-05T00:00:00Z') });
    expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 410 });
  });

  it('stops only once, even when stop is called twice', async () => {
    const { stop } = await startService();
    const stopping = stop();
    expect(stop()).toBe(stopping);
    expect(await stopping).toBe(0);
    expect(await stop()).toBe(0);
  });

  it('does not load the MongoDB driver, unlike a service with MongoDB', async () => {
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
  async function newKeys() {
    const file = join(await testDirectory(), 'petstore.db');
    const { keys, close } = await openSqliteKeys(file);
    onTestFinished(close);
    return { keys, DATABASE_URL: `sqlite:${file}` };
  }

  it('records the last use of a key after the request', async () => {
    const { keys, DATABASE_URL } = await newKeys();
    const now = () => new Date('2026-12-24T12:00:00Z');
    const { token, key } = await createKey(keys, now);

    const { url } = await startService({ API_KEYS: '', DATABASE_URL }, { now, recordUsesEveryMs: 10 });
    expect((await ask(`${url}/v1/pets`, { key: token })).status).toBe(200);
    const used = async () => (await keys.findById(key.id))?.lastUsedAt;
    await expect.poll(used).toStrictEqual(now());
  });

  it('records it at the latest when it stops', async () => {
    const { keys, DATABASE_URL } = await newKeys();
    const { token, key } = await createKey(keys);

    const { url, stop } = await startService({ API_KEYS: '', DATABASE_URL });
    expect((await ask(`${url}/v1/pets`, { key: token })).status).toBe(200);
    await stop();
    expect((await keys.findById(key.id))?.lastUsedAt).toBeInstanceOf(Date);
  });

  it.skipIf(mongo === undefined)(
    'answers 503, and lets no request in, while it cannot look up keys',
    async () => {
      const { url } = await freshDatabase(mongo!);
      const { keys, close } = await openMongoArchive(url);
      onTestFinished(close);
      const { token } = await createKey(keys);
      const proxy = await new TcpProxy(addressOf(url)).listen();
      onTestFinished(async () => proxy.close());
      const service = await startService({ DATABASE_URL: throughPort(url, proxy.port) });
      proxy.stall();
      const unknown = mintKey().token;
      const answers = [token, unknown].map(async (key) => ask(`${service.url}/v1/pets`, { key }));
      for (const answer of await Promise.all(answers)) {
        expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
      }
      // Its checksum is wrong: the storage is not asked.
      expect((await ask(`${service.url}/v1/pets`, { key: `${token}x` })).status).toBe(401);
      proxy.resume();
      const again = [token, unknown].map(async (key) => ask(`${service.url}/v1/pets`, { key }));
      expect((await Promise.all(again)).map(({ status }) => status)).toStrictEqual([200, 401]);
    },
  );
});

describe.skipIf(mongo === undefined)(`a service with its pets in MongoDB${leftOut}`, () => {
  it('creates its schema with AUTO_MIGRATE, and has the pets again after a restart', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!, { migrated: false });

    const first = await startService({ DATABASE_URL, AUTO_MIGRATE: 'true' });
    expect(await ask(`${first.url}/readyz`)).toMatchObject({ status: 200 });
    expect(await ask(`${first.url}/v1/pets`, { body: PET })).toMatchObject({
      status: 201,
      headers: { location: '/v1/pets/1' },
      body: STORED,
    });
    expect(await ask(`${first.url}/v1/pets/1`)).toMatchObject({ status: 200, body: STORED });
    await first.stop();

    const { url } = await startService({ DATABASE_URL });
    expect(await ask(`${url}/v1/pets/1`)).toMatchObject({ status: 200, body: STORED });
    expect(await ask(`${url}/v1/pets?status=sold`)).toMatchObject({ body: `[${STORED}]` });
    expect(await ask(`${url}/v1/pets`, { body: PET })).toMatchObject({ headers: { location: '/v1/pets/2' } });
  });

  it('does not start without a schema, and names the command to run, which can run twice', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!, { migrated: false });

    await expect(startService({ DATABASE_URL })).rejects.toThrow(
      new StorageSetupError(
        `the database "${db.databaseName}" has no petstore schema; run: bin/petstore migrate`,
      ),
    );

    for (const before of ['before: none', 'as before']) {
      const migrated = await succeeds(['migrate'], { DATABASE_URL });
      expect(migrated.stdout).toBe(`the database "${db.databaseName}" has schema version 4 (${before})\n`);
      expect(migrated.stderr).toBe('');
    }

    const { url } = await startService({ DATABASE_URL });
    expect(await ask(`${url}/v1/pets`)).toMatchObject({ status: 200, body: '[]' });
  });

  it('does not start on the schema of a newer build', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    await db.collection('schema').updateOne({}, { $set: { version: 5 } });
    const refusal =
      `the database "${db.databaseName}" has schema version 5, this build needs 4; ` +
      'run a newer build of petstore';

    await expect(startService({ DATABASE_URL, AUTO_MIGRATE: 'true' })).rejects.toThrow(
      new StorageSetupError(refusal),
    );
    await refused(['migrate'], refusal, { env: { DATABASE_URL } });
  });

  it('keeps the storage open until the last request in flight has its answer', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!);
    const service = runService({ API_KEYS: KEY, DATABASE_URL });
    const { complete } = await stalledCreate(await service.url());

    service.signal('SIGTERM');
    await service.logged('shutting down');

    expect(await complete()).toStrictEqual(CREATED);
    // Nothing of the storage keeps the process alive.
    expect(await service.ended).toStrictEqual({ code: 0, signal: null });
    expect(await db.collection('pets').countDocuments()).toBe(1);
  });

  it('closes the storage when it cannot listen, and the process ends', async () => {
    const { url: DATABASE_URL } = await freshDatabase(mongo!);
    const { port: PORT } = await silentServer();

    const service = runService({ API_KEYS: KEY, DATABASE_URL, PORT });

    expect(await service.ended).toStrictEqual({ code: 1, signal: null });
    expect(service.stderr).toMatch(/^petstore: .* EADDRINUSE: .*\n$/);
  });
});
