import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { keyWith, startApi } from '../../support/http.ts';
import { FailingPetRepository, HeldPetRepository, petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const API_KEY = { keyId: 'an-id', keyLabel: 'a label' };

// The key replaces an older key. The audit log has the id of the new key.
const tokens = keyWith({ id: API_KEY.keyId, label: API_KEY.keyLabel, originId: 'another-id' });

const idHeader = (requestId: string) => ({ 'x-request-id': requestId });

describe('the audit log', () => {
  test('records each created pet with its id and the API key, and records each retry, because the first request may have failed before its record', async () => {
    await using api = await startApi({ tokens });
    await api.post(petBody(), idHeader('a'));
    for (const id of ['b', 'c']) await api.post(petBody(), { ...idHeader(id), 'idempotency-key': 'k' });
    expect(api.log.created).toStrictEqual([
      { requestId: 'a', petId: 1n, ...API_KEY, replayed: false },
      { requestId: 'b', petId: 2n, ...API_KEY, replayed: false },
      { requestId: 'c', petId: 2n, ...API_KEY, replayed: true },
    ]);
  });

  test('records a created pet even if the client has disconnected', async () => {
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
    // The answer to this request comes after the insert of the pet.
    expect((await api.get('/v1/pets/1')).status).toBe(200);
    expect(api.log.created).toStrictEqual([{ requestId: 'gone', petId: 1n, ...API_KEY, replayed: false }]);
  });
});

test('a request that is answered with an error has no audit record', async () => {
  await using api = await startApi({ tokens });
  const keyHeader = { 'idempotency-key': 'k' };
  await api.post(petBody(), { ...idHeader('a'), ...keyHeader });
  expect((await api.post(petBody({ name: '"Mia"' }), { ...idHeader('b'), ...keyHeader })).status).toBe(422);
  expect((await api.post('{}')).status).toBe(400);
  expect(api.log.created).toStrictEqual([{ requestId: 'a', petId: 1n, ...API_KEY, replayed: false }]);

  await using failing = await startApi({ pets: new FailingPetRepository(new StorageUnavailable('away')) });
  expect((await failing.post(petBody())).status).toBe(503);
  expect(failing.log.created).toStrictEqual([]);
});
