import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { readBody } from '../../../../src/adapters/http/middleware/body.ts';

test('a failure of the service to read is not blamed on the client', async () => {
  const request = new IncomingMessage(new Socket());
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' };
  Object.assign(request.headers, headers);
  const read = readBody(new Koa().createContext(request, new ServerResponse(request)), async () => {});
  const error = Object.assign(new Error('a bug'), { code: 'EIO' });
  request.emit('error', error);
  await expect(read).rejects.toBe(error);
});
