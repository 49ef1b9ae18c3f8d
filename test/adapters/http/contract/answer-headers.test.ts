import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { requestIdOf } from '../../../../src/adapters/http/contract/answer-headers.ts';

// The server may have to answer a request while the application reads its body. Both use the same id.
test.each([{ 'content-length': '7' }, { 'transfer-encoding': 'chunked' }])(
  'a request with a body (%j) keeps the id that was made for it',
  (headers) => {
    const [request, other] = [new IncomingMessage(new Socket()), new IncomingMessage(new Socket())];
    Object.assign(request, { headers });
    const id = requestIdOf(request);
    expect(requestIdOf(request)).toBe(id);
    expect(requestIdOf(other)).not.toBe(id);
  },
);
