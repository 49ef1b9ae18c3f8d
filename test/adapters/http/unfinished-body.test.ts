import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { type Api, KEY, keyWith, startApi } from '../../support/http.ts';
import { insertPets } from '../../support/pets.ts';
import type { RawConnection } from '../../support/raw-connection.ts';
import { post } from './raw-requests.ts';

const resetByClient = async (_api: Api, connection: RawConnection) => connection.abort();
const closeByDrain = async (api: Api) => void (await api.drain(0));

test.each([
  ['the client resets the connection', resetByClient],
  ['a drain closes the connection', closeByDrain],
])('no failure of the service is logged if %s in the middle of a body', async (_, endConnection) => {
  await using api = await startApi();
  const connection = await api.connect(`${post('Content-Length: 50\r\nExpect: 100-continue\r\n')}{`);
  // The 100 shows that the service has begun to read the body.
  expect(await connection.answer()).toMatchObject({ status: 100 });
  await endConnection(api, connection);
  expect(await api.log.record(0)).toMatchObject({ route: '/v1/pets', aborted: true });
  // The reader of the body fails in the same turn of the event loop as the record is written. The next turn comes after
  // both.
  await setImmediate();
  expect(api.log.failures).toStrictEqual([]);
});

test('no failure of the service is logged if a connection ends before the service reads the body', async () => {
  const verifyMayContinue = Promise.withResolvers<void>();
  const verifyCalled = Promise.withResolvers<void>();
  const verifier = keyWith({});
  const verify = async (token: string) => {
    verifyCalled.resolve();
    await verifyMayContinue.promise;
    return verifier.verify(token);
  };
  await using api = await startApi({ tokens: { verify } });
  const connection = await api.connect(`${post('Content-Length: 50\r\n')}{`);
  await verifyCalled.promise;
  connection.abort();
  await api.log.record(0);
  verifyMayContinue.resolve();
  await setImmediate();
  expect(api.log.failures).toStrictEqual([]);
});

test.each([
  ['resets', '/docs/swagger-ui-bundle.js'],
  ['closes', '/docs/swagger-ui-bundle.js'],
  ['resets', '/v1/pets?limit=100'],
  ['closes', '/v1/pets?limit=100'],
])(
  'no failure of the service is logged if a client %s its connection in the middle of an answer: GET %s',
  async (ending, path) => {
    const pets = new InMemoryPetRepository();
    await insertPets(pets, ...Array.from({ length: 100 }, () => ({ name: '🐕'.repeat(255) })));
    await using api = await startApi({ pets });
    const connection = await api.connect();
    connection.pause();
    const headers = `Host: x\r\nAuthorization: Bearer ${KEY}\r\n`;
    await connection.send(`GET ${path} HTTP/1.1\r\n${headers}\r\n`.repeat(16));
    // The number of answers that the service has already written to the buffers of the operating system.
    const finishedAnswers = api.log.records.length;
    await api.get('/livez');
    if (ending === 'resets') connection.abort();
    else connection.close();
    for (let i = finishedAnswers; i < 2; i++) await api.log.record(i);
    await setImmediate();
    expect(api.log.failures).toStrictEqual([]);
  },
);
