import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Api, startApi } from '../../support/http.ts';
import type { RawConnection } from '../../support/raw-connection.ts';
import { post } from './raw-requests.ts';

const abort = async (_api: Api, connection: RawConnection) => connection.abort();
const drain = async (api: Api) => void (await api.drain(0));

test.each([
  ['the client resets it', abort],
  ['a drain cuts it off', drain],
])('a connection that ends in the middle of a body is no failure of the service: %s', async (_, end) => {
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
