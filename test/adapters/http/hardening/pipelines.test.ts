import { expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../../src/adapters/memory/pet-repository.ts';
import { EMPTY_PAGE, brief } from '../../../support/answer.ts';
import { startApi } from '../../../support/http.ts';
import { HeldPetRepository, petBody, insertPets } from '../../../support/pets.ts';
import { create, CLOSING_REQUEST, list, LIVEZ, post } from '../raw-requests.ts';

const LIST_REQUEST = list('?limit=100');

test('pipelined requests are answered in order, even if they arrive in parts of any size', async () => {
  const body = petBody();
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Trailer: y\r\n\r\n`;
  const invalidBody = petBody({ name: `"${'\\r\\n'.repeat(100)}Rex"` });
  const allRequests =
    LIVEZ.replace('GET', 'HEAD') +
    LIVEZ.replace('GET', 'OPTIONS') +
    create(body) +
    post('Transfer-Encoding: chunked\r\n') +
    chunks +
    create(invalidBody) +
    create(' '.repeat(60_000) + body) +
    create('\r\n\r\n'.repeat(5000) + body) +
    CLOSING_REQUEST;
  const statuses = [200, 204, 201, 201, 400, 201, 201, 200];
  for (const maxSize of [1e9, 60_000, 1000, 97]) {
    await using api = await startApi();
    const parts = allRequests.match(new RegExp(`[^]{1,${Math.min(maxSize, allRequests.length)}}`, 'g')) ?? [];
    const answers = await api.raw(...parts);
    expect(answers.map(({ status }) => status)).toStrictEqual(statuses);
    expect(JSON.parse((await api.get('/v1/pets')).body)).toHaveLength(4);
    expect(api.log.failures).toStrictEqual([]);
  }
});

test('a pipelined request receives "100 Continue" only after the answers to all earlier requests', async () => {
  const pets = new HeldPetRepository();
  await using api = await startApi({ pets });
  const connection = await api.connect();
  const body = petBody();
  await connection.send(LIST_REQUEST + post(`Expect: 100-continue\r\nContent-Length: ${body.length}\r\n`));
  await pets.calls(1);
  pets.release();
  expect(brief(await connection.answer())).toStrictEqual(EMPTY_PAGE);
  expect((await connection.answer()).status).toBe(100);
  await connection.send(body);
  expect((await connection.answer()).status).toBe(201);
});

test('pipelined requests after the sixteenth are not executed, and a client that reads late receives all sixteen answers', async () => {
  const pets = new InMemoryPetRepository();
  // The send buffer of the operating system is shorter than a page with the longest names. The service cannot send all
  // answers before the client reads.
  await insertPets(pets, ...Array.from({ length: 100 }, () => ({ name: '🐕'.repeat(255) })));
  await using api = await startApi({ pets });
  const connections = await Promise.all(Array.from({ length: 10 }, () => api.connect()));
  for (const connection of connections) {
    connection.pause();
    await connection.send(LIST_REQUEST.repeat(16) + create(petBody()).repeat(10));
  }
  // These requests give the service time to execute the pipelined requests.
  for (let i = 0; i < 10; i++) await api.get('/livez');
  for (const connection of connections) {
    connection.resume();
    for (let i = 1; i <= 16; i++) {
      expect(await connection.answer()).toMatchObject({
        status: 200,
        headers: { connection: i === 16 ? 'close' : 'keep-alive' },
      });
    }
    await connection.closed();
  }
  expect(await pets.list({ limit: 1, after: 100n })).toStrictEqual([]);
});
