import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { BODY_TOO_LARGE } from '../../../../src/adapters/http/contract/refusals.ts';
import { readBody } from '../../../../src/adapters/http/middleware/body.ts';

/** Reads the body of a request with chunks. */
function bodyOf(request: IncomingMessage): Promise<Buffer> {
  Object.assign(request.headers, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  return readBody(new Koa().createContext(request, new ServerResponse(request)), async () => {});
}

test('a body that has arrived behind another request has the same limit', async () => {
  const request = new IncomingMessage(new Socket());
  request.push(Buffer.alloc(64 * 1024 + 1));
  request.complete = true;
  await expect(bodyOf(request)).rejects.toBe(BODY_TOO_LARGE);
});

test('a failure of the service to read is not blamed on the client', async () => {
  const request = new IncomingMessage(new Socket());
  const read = bodyOf(request);
  const error = Object.assign(new Error('a bug'), { code: 'EIO' });
  request.emit('error', error);
  await expect(read).rejects.toBe(error);
});
