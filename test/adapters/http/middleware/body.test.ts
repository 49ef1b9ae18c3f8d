import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import Koa from 'koa';
import { describe, expect, test } from 'vitest';
import { readBody } from '../../../../src/adapters/http/middleware/body.ts';

describe.each([undefined, 'gzip'])('with the content coding %s', (coding) => {
  test.each([new Error('a bug'), Object.assign(new Error('a bug'), { code: 'EIO' })])(
    'a failure of the service to read is not blamed on the client: %o',
    async (error) => {
      const request = new IncomingMessage(new Socket());
      Object.assign(request.headers, {
        'content-type': 'application/json',
        'content-encoding': coding,
        'transfer-encoding': 'chunked',
      });
      const ctx = new Koa().createContext(request, new ServerResponse(request));
      const unexpected = async () => {
        throw new Error('went on');
      };

      const read = readBody(ctx, unexpected);
      request.emit('error', error);

      await expect(read).rejects.toBe(error);
    },
  );
});
