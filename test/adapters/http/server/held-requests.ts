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

export const get = (path: string, headers = '') => `GET /livez?${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
/** A server on a free port, over TLS in the project `tls`. Each request waits for the test to answer it. */
export async function serve(limits: ListenOptions['limits'] = {}) {
  const log = new RecordingLog();
  const events = new EventEmitter();
  /** The queries of the requests, in the order in which they were handled. */
  const handled: string[] = [];
  const responses: ServerResponse[] = [];
  const handle: RequestListener = (request, response) => {
    for (const [name, value] of Object.entries(answerHeaders('an-id'))) response.setHeader(name, value);
    handled.push(String(request.url).replace('/livez?', ''));
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
    handled,
    responses,
    connect: async (bytes: string | Uint8Array = '') => {
      const client = await RawConnection.open(server.port);
      clients.push(client);
      if (bytes.length > 0) await client.send(bytes);
      return client;
    },
    /** Waits until this many requests were handled. */
    untilHandled: (count: number) =>
      waitFor(events, 'handled', () => (handled.length >= count ? true : undefined)),
    /** Answers the oldest request without an answer, once there is one. */
    answer: async (body: string | Buffer = OK.body) => {
      await waitFor(events, 'handled', () => responses[0]);
      responses.shift()!.setHeader('Content-Length', Buffer.byteLength(body)).end(body);
    },
  };
}

/** What the `Connection` header of each of these answers says. */
export async function announced(client: RawConnection, answers: number): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for (let i = 0; i < answers; i++) said.push((await client.answer()).headers['connection']);
  return said;
}
