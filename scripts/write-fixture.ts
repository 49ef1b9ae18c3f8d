import { execFileSync, spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BSON, MongoClient } from 'mongodb';
import packageJson from '../package.json' with { type: 'json' };
import { startMongo } from '../test/support/mongodb.ts';
import { Program, ROOT, SERVICE } from '../test/support/process.ts';

/** What this build has stored, for the upgrade tests of later builds: a storage of each kind, and what is in it. */
const DIRECTORY = join(ROOT, 'test/upgrade/fixtures', packageJson.version);

const EXTREMES = [
  { name: 'Rex', categoryId: 7 },
  { name: 'Mitzi 🐈', categoryId: 9_223_372_036_854_775_807n, status: 'pending' },
  { name: ' e\u0301 ', categoryId: -9_223_372_036_854_775_808n, status: 'sold' },
  { name: '\u{1f408}'.repeat(255), categoryId: 0, status: 'available' },
  { name: '\\"\u2028\ufeff\u0085\u00a0\u{10ffff}', categoryId: -1 },
].map(({ categoryId, ...pet }) => JSON.stringify({ ...pet, categoryId: JSON.rawJSON(`${categoryId}`) }));

/** Fills a storage with the commands and the service of this build. */
async function fill(DATABASE_URL: string) {
  const env = { PATH: process.env['PATH'], DATABASE_URL, PORT: '0' };
  const petstore = (...args: readonly string[]) =>
    execFileSync(process.execPath, [...SERVICE, ...args], { cwd: ROOT, env, encoding: 'utf8' });
  const create = (label: string, ...options: readonly string[]) =>
    petstore('keys', 'create', '--label', label, ...options).trim();
  const idOf = (one: string) => one.split('_')[1]!;
  const key = create('shop', '--expires', 'never');
  const reader = create('reader', '--scopes', 'pets:read', '--rate-limit', '600/60s');
  petstore('keys', 'rotate', idOf(reader), '--overlap', '0s', '--expires', 'never');
  petstore('keys', 'revoke', idOf(create('till-3')));

  const service = new Program(spawn(process.execPath, SERVICE, { cwd: ROOT, env, detached: true }));
  const url = `${await service.url()}/v1/pets`;
  const requests: { idempotencyKey: string | undefined; body: string; answer: string }[] = [];
  for (const [index, body] of EXTREMES.entries()) {
    // One pet has none.
    const idempotencyKey = index === 0 ? undefined : `request-${index}`;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const idempotency = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    const answer = await fetch(url, { method: 'POST', headers: { ...headers, ...idempotency }, body });
    requests.push({ idempotencyKey, body, answer: await answer.text() });
  }
  service.signal('SIGTERM');
  await service.succeeded();
  await service.kill();
  const { upTo } = JSON.parse(petstore('skip-ids', '--json')) as { readonly upTo: number };
  const keys: unknown = JSON.parse(petstore('keys', 'list', '--json'));
  return { key, keys, upTo, requests, pets: petstore('export') };
}

/** With validators and indexes, which a dump of the documents alone would lose. */
async function dump(url: string): Promise<string> {
  const client = await new MongoClient(url, { promoteLongs: false, promoteValues: false }).connect();
  const db = client.db();
  const infos = await db.listCollections({}, { nameOnly: false }).toArray();
  const collections = infos.map(async ({ name, options }) => {
    const collection = db.collection(name);
    const indexes = (await collection.indexes()).filter(({ name: index }) => String(index) !== '_id_');
    return { name, options, indexes, documents: await collection.find().sort({ _id: 1 }).toArray() };
  });
  const all = (await Promise.all(collections)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  await client.close();
  return `${BSON.EJSON.stringify(all, undefined, 2, { relaxed: false })}\n`;
}

const toJson = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

await mkdir(DIRECTORY, { recursive: true });
const path = (name: string) => join(DIRECTORY, name);

await rm(path('sqlite.db'), { force: true });
await writeFile(path('sqlite.json'), toJson(await fill(`sqlite:${path('sqlite.db')}`)));
for (const end of ['.lock', '-shm', '-wal']) await rm(path(`sqlite.db${end}`), { force: true });

const mongo = await startMongo({});
const url = mongo.url('petstore');
execFileSync(process.execPath, [...SERVICE, 'migrate', url], { cwd: ROOT });
await writeFile(path('mongodb.json'), toJson(await fill(url)));
await writeFile(path('mongodb.ejson'), await dump(url));
await mongo.stop();
