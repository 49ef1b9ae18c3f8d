import { expect, test } from 'vitest';
import { bytesOf } from './fuzz-case.ts';
import { minimise } from './minimise.ts';

test('a case is reduced to what it needs to fail', async () => {
  const steps = [
    { on: 0, send: 'GET /livez HTTP/1.1\r\n\r\n' },
    { on: 1, send: 'GET /livez HT' },
    { on: 0, send: 'GET /v1/pets/-12 HTTP/1.1\r\nHost: x\r\n\r\n' },
    { on: 1, close: 'reset' as const },
  ];
  const smallest = await minimise({ steps }, async (smaller) =>
    /\/pets\/-\d/.test(bytesOf(smaller, 0).toString()),
  );
  expect(smallest).toStrictEqual({ steps: [{ on: 0, send: '/pets/-1' }] });
});
