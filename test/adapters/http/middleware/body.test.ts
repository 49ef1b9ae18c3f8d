import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa from 'koa';
import { expect, test } from 'vitest';
import { readBody } from '../../../../src/adapters/http/middleware/body.ts';
import type { State } from '../../../../src/adapters/http/middleware/state.ts';
import { CREATED, brief } from '../../../support/answer.ts';
import { keyWith, startApi } from '../../../support/http.ts';
import { petBody } from '../../../support/pets.ts';
import { post } from '../raw-requests.ts';

test('readBody joins the pieces of a body that arrived before readBody runs', async () => {
  const verifyMayContinue = Promise.withResolvers<void>();
  const verifyCalled = Promise.withResolvers<void>();
  const verifier = keyWith({});
  const verify = async (token: string) => {
    verifyCalled.resolve();
    await verifyMayContinue.promise;
    return verifier.verify(token);
  };
  await using api = await startApi({ tokens: { verify } });
  const body = petBody();
  const connection = await api.connect(post(`Content-Length: ${body.length}\r\n`));
  await verifyCalled.promise;
  for (const piece of [body.slice(0, 7), body.slice(7, 9), body.slice(9)]) {
    await connection.send(piece);
    await api.raw('GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  }
  verifyMayContinue.resolve();
  expect(brief(await connection.answer())).toStrictEqual(CREATED);
});

test('readBody rejects with the error if the service itself fails to read the body', async () => {
  const request = new IncomingMessage(new Socket());
  Object.assign(request.headers, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
  const app = new Koa<State>();
  const ctx = app.createContext<State>(request, new ServerResponse(request));
  const [, receiveBody] = readBody(async (_, next) => next());
  const reading = receiveBody!(ctx, async () => {});
  const error = Object.assign(new Error('a bug'), { code: 'EIO' });
  request.emit('error', error);
  await expect(reading).rejects.toBe(error);
});
