import { EventEmitter } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { answerHeaders } from '../../../../src/adapters/http/contract/answer-headers.ts';
import { type ListenOptions, listen } from '../../../../src/adapters/http/server/listen.ts';
import { OK } from '../../../support/answer.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { RecordingLog } from '../../../support/recording-log.ts';
import { PAIR, SPEAKS_TLS } from '../../../support/tls/pem-files.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** A request for `/livez?path`, which `handledPaths` reports as `path`. */
export const get = (path: string, headers = '') => `GET /livez?${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

/**
 * Starts a server on a free port, which speaks TLS in the Vitest project `tls`. Each request waits until the test
 * answers it with `answerOldest`.
 */
export async function serve(limits: ListenOptions['limits'] = {}) {
  const log = new RecordingLog();
  const events = new EventEmitter();
  /** The queries of the requests, in the order in which the server handled them. */
  const handledPaths: string[] = [];
  const responses: ServerResponse[] = [];
  const handle: RequestListener = (request, response) => {
    for (const [name, value] of Object.entries(answerHeaders('an-id'))) response.setHeader(name, value);
    handledPaths.push(String(request.url).replace('/livez?', ''));
    responses.push(response);
    events.emit('handled');
  };
  const tls = SPEAKS_TLS ? PAIR : undefined;
  const server = await listen(handle, { host: '127.0.0.1', port: 0, log, limits, tls });
  const clients: RawConnection[] = [];
  onTestFinished(async () => {
    for (const client of clients) client.close();
    await server.drain(0);
  });
  return {
    log,
    server,
    handledPaths,
    responses,
    connect: async (bytes: string | Uint8Array = '') => {
      const client = await RawConnection.open(server.port);
      clients.push(client);
      if (bytes.length > 0) await client.send(bytes);
      return client;
    },
    /** Waits until the server has handled this number of requests. */
    waitUntilHandled: (count: number) =>
      waitFor(events, 'handled', () => (handledPaths.length >= count ? true : undefined)),
    /** Waits for a request if none is unanswered. Then answers the oldest unanswered request. */
    answerOldest: async (body: string | Buffer = OK.body) => {
      await waitFor(events, 'handled', () => responses[0]);
      responses.shift()!.setHeader('Content-Length', Buffer.byteLength(body)).end(body);
    },
  };
}

/** Reads this number of answers, and returns their `Connection` headers. */
export async function connectionHeaders(client: RawConnection, count: number): Promise<readonly unknown[]> {
  const values: unknown[] = [];
  for (let i = 0; i < count; i++) values.push((await client.answer()).headers['connection']);
  return values;
}
