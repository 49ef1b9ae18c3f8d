import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { type Api, KEY, keyWith, startApi } from '../../support/http.ts';
import { stored } from '../../support/pets.ts';
import type { RawConnection } from '../../support/raw-connection.ts';
import { post } from './raw-requests.ts';

const abort = async (_api: Api, connection: RawConnection) => connection.abort();
const drain = async (api: Api) => void (await api.drain(0));

test.each([
  ['the client resets it', abort],
  ['a drain cuts it off', drain],
])('a connection that ends within a body is no failure of the service: %s', async (_, end) => {
  await using api = await startApi();
  const connection = await api.connect(`${post('Content-Length: 50\r\nExpect: 100-continue\r\n')}{`);
  // The service asks for the body: it has begun to read it.
  expect(await connection.answer()).toMatchObject({ status: 100 });
  await end(api, connection);
  expect(await api.log.record(0)).toMatchObject({ route: '/v1/pets', aborted: true });
  // The reader of the body fails in the same turn of the event loop.
  await setImmediate();
  expect(api.log.failures).toStrictEqual([]);
});

test('a connection that ends before its body is read is no failure of the service', async () => {
  const released = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const known = keyWith({});
  const verify = async (token: string) => {
    asked.resolve();
    await released.promise;
    return known.verify(token);
  };
  await using api = await startApi({ tokens: { verify } });
  const connection = await api.connect(`${post('Content-Length: 50\r\n')}{`);
  await asked.promise;
  connection.abort();
  await api.log.record(0);
  released.resolve();
  await setImmediate();
  expect(api.log.failures).toStrictEqual([]);
});

test.each([
  ['resets', '/docs/swagger-ui-bundle.js'],
  ['closes', '/docs/swagger-ui-bundle.js'],
  ['resets', '/v1/pets?limit=100'],
  ['closes', '/v1/pets?limit=100'],
])(
  'a client that %s its connection in the middle of an answer is no failure of the service: %s',
  async (how, path) => {
    const pets = new InMemoryPetRepository();
    await stored(pets, ...Array.from({ length: 100 }, () => ({ name: '🐕'.repeat(255) })));
    await using api = await startApi({ pets });
    const connection = await api.connect();
    connection.pause();
    const headers = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
    await connection.send(`GET ${path} HTTP/1.1\r\n${headers}\r\n`.repeat(16));
    // Some of the answers are in the buffers of the system.
    const written = api.log.records.length;
    await api.get('/livez');
    if (how === 'resets') connection.abort();
    else connection.close();
    for (let i = written; i < 2; i++) await api.log.record(i);
    await setImmediate();
    expect(api.log.failures).toStrictEqual([]);
  },
);
