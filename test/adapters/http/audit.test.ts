import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { keyWith, startApi } from '../../support/http.ts';
import { FailingPetRepository, HeldPetRepository, petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const WHO = { keyId: 'an-id', keyLabel: 'a label' };

// A rotation made the key.
const tokens = keyWith({ id: WHO.keyId, label: WHO.keyLabel, originId: 'another-id' });

const ID = (requestId: string) => ({ 'x-request-id': requestId });

describe('the audit log records each created pet', () => {
  test('with its id and the API key, also for a retry, because the first request may have failed before its record', async () => {
    await using api = await startApi({ tokens });
    await api.post(petBody(), ID('a'));
    for (const id of ['b', 'c']) await api.post(petBody(), { ...ID(id), 'idempotency-key': 'k' });
    expect(api.log.created).toStrictEqual([
      { requestId: 'a', petId: 1n, ...WHO, replayed: false },
      { requestId: 'b', petId: 2n, ...WHO, replayed: false },
      { requestId: 'c', petId: 2n, ...WHO, replayed: true },
    ]);
  });

  test('even when the client has disconnected', async () => {
    const pets = new HeldPetRepository();
    await using api = await startApi({ pets, tokens });
    const connection = await api.connect();
    const body = petBody();
    await connection.send(post(`X-Request-Id: gone\r\nContent-Length: ${body.length}\r\n`) + body);
    await pets.calls(1);
    connection.abort();
    expect(await api.log.record(0)).toMatchObject({ requestId: 'gone', aborted: true });
    expect(api.log.created).toStrictEqual([]);
    pets.release();
    // Its answer comes after the insert.
    expect((await api.get('/v1/pets/1')).status).toBe(200);
    expect(api.log.created).toStrictEqual([{ requestId: 'gone', petId: 1n, ...WHO, replayed: false }]);
  });
});

test('a request that creates nothing has no audit record', async () => {
  await using api = await startApi({ tokens });
  const key = { 'idempotency-key': 'k' };
  await api.post(petBody(), { ...ID('a'), ...key });
  expect((await api.post(petBody({ name: '"Mia"' }), { ...ID('b'), ...key })).status).toBe(422);
  expect((await api.post('{}')).status).toBe(400);
  expect(api.log.created).toStrictEqual([{ requestId: 'a', petId: 1n, ...WHO, replayed: false }]);

  await using failing = await startApi({ pets: new FailingPetRepository(new StorageUnavailable('away')) });
  expect((await failing.post(petBody())).status).toBe(503);
  expect(failing.log.created).toStrictEqual([]);
});
