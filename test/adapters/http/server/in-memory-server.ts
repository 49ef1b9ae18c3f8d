import { type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { expect, onTestFinished } from 'vitest';
import { type ListenOptions, listen } from '../../../../src/adapters/http/server/listen.ts';
import type { problem } from '../../../support/answer.ts';
import { ListeningModel } from '../../../support/listening-model.ts';
import { MemoryClient, settled } from '../../../support/memory-client.ts';
import { RecordingLog } from '../../../support/recording-log.ts';

export const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
export const post = (headers: string) => `POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
export const CHUNKED = 'Transfer-Encoding: chunked\r\n';
export const CONNECT = 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n';

/** A server without a port. What it hands to the application waits for the test to answer it. */
export async function start(limits: ListenOptions['limits'] = {}) {
  const log = new RecordingLog();
  const responses: ServerResponse[] = [];
  const handled: string[] = [];
  const handle: RequestListener = (request, response) => {
    handled.push(`${request.method} ${request.url}`);
    responses.push(response);
  };
  const system = new ListeningModel();
  const server = await system.listening(() => listen(handle, { host: 'localhost', port: 7, log, limits }));
  const sockets: Duplex[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    // Ends its timers. There is nothing to wait for.
    void server.drain(0);
  });
  return {
    log,
    server,
    handled,
    responses,
    connect: () => {
      const [socket, far] = duplexPair();
      sockets.push(socket);
      system.accept(socket);
      return Object.assign(new MemoryClient(far), { server: socket });
    },
    answer: async (body = 'x') => {
      responses.shift()!.end(body);
      await settled();
    },
  };
}

/** The same, with a client that has connected and sent these bytes. */
export async function startWithClient(bytes = '', limits: ListenOptions['limits'] = {}) {
  const server = await start(limits);
  const client = server.connect();
  if (bytes !== '') await client.send(bytes);
  return { ...server, client };
}

export const record = (status: number, method?: string) => ({
  requestId: expect.stringMatching(/^[\w-]{8,}$/),
  method,
  status,
  // The connections here are streams without an address.
  client: undefined,
});

/** The text of this answer to input that is not a request. */
export function refusal({ status, body }: ReturnType<typeof problem>): RegExp {
  return new RegExp(
    `^HTTP/1\\.1 ${status} ${STATUS_CODES[status]}\r\nX-Request-Id: [\\w-]{5,}\r\nX-Content-Type-Options: nosniff\r\n` +
      `Cache-Control: no-store\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${body.length}\r\n(Date: [^\r]+ GMT\r\n)?Connection: close\r\n(Date: [^\r]+ GMT\r\n)?\r\n` +
      `${RegExp.escape(body)}$`,
  );
}
