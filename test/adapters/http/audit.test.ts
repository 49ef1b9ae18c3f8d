import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/application/ports/storage-errors.ts';
import { keyWith, startApi } from '../../support/http.ts';
import { FailingPetRepository, HeldPetRepository, petBody } from '../../support/pets.ts';
import { post } from './raw-requests.ts';

const API_KEY = { keyId: 'an-id', keyLabel: 'a label' };

// This key has replaced an older key, which has the id `originId`. The audit log must have the id of the newer key.
const tokens = keyWith({ id: API_KEY.keyId, label: API_KEY.keyLabel, originId: 'another-id' });

const idHeader = (requestId: string) => ({ 'x-request-id': requestId });

describe('the audit log', () => {
  test('has a record for each created pet and for each retry, because a crash may have prevented the record of the first request', async () => {
    await using api = await startApi({ tokens });
    await api.post(petBody(), idHeader('a'));
    for (const id of ['b', 'c']) await api.post(petBody(), { ...idHeader(id), 'idempotency-key': 'k' });
    expect(api.log.created).toStrictEqual([
      { requestId: 'a', petId: 1n, ...API_KEY, replayed: false },
      { requestId: 'b', petId: 2n, ...API_KEY, replayed: false },
      { requestId: 'c', petId: 2n, ...API_KEY, replayed: true },
    ]);
  });

  test('has a record for a created pet even if the client disconnects before the pet is inserted', async () => {
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
    // The storage executes this read after the insert of the pet.
    expect((await api.get('/v1/pets/1')).status).toBe(200);
    expect(api.log.created).toStrictEqual([{ requestId: 'gone', petId: 1n, ...API_KEY, replayed: false }]);
  });
});

test('the audit log has no record for a request that is answered with an error', async () => {
  await using api = await startApi({ tokens });
  const keyHeader = { 'idempotency-key': 'k' };
  await api.post(petBody(), { ...idHeader('a'), ...keyHeader });
  expect((await api.post(petBody({ name: '"Mia"' }), { ...idHeader('b'), ...keyHeader })).status).toBe(422);
  expect((await api.post('{}')).status).toBe(400);
  expect(api.log.created).toStrictEqual([{ requestId: 'a', petId: 1n, ...API_KEY, replayed: false }]);

  await using failing = await startApi({ pets: new FailingPetRepository(new StorageUnavailable('down')) });
  expect((await failing.post(petBody())).status).toBe(503);
  expect(failing.log.created).toStrictEqual([]);
});
