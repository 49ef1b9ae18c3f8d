import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Api, startApi } from '../../support/http.ts';
import type { RawConnection } from '../../support/raw-connection.ts';
import { post } from './raw-requests.ts';

describe('a connection that ends in the middle of the body is not a failure of the service', () => {
  describe.each(['identity', 'gzip'])('%s', (coding) => {
    test.each<readonly [string, (api: Api, connection: RawConnection) => unknown]>([
      ['the client resets it', (_api, connection) => connection.abort()],
      ['a drain cuts it off', (api) => api.drain(0)],
    ])('%s', async (_, end) => {
      await using api = await startApi();
      const connection = await api.connect(
        `${post(`Content-Encoding: ${coding}\r\nContent-Length: 50\r\nExpect: 100-continue\r\n`)}{`,
      );
      // The service asks for the body: it has begun to read it.
      expect(await connection.answer()).toMatchObject({ status: 100 });
      await end(api, connection);
      expect(await api.log.record(0)).toMatchObject({ route: '/v1/pets', aborted: true });
      // The reader of the body fails in the same turn of the event loop.
      await setImmediate();
      expect(api.log.failures).toStrictEqual([]);
    });
  });
});
