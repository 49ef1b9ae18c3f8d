import type { RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { duplexPair } from 'node:stream';
import { onTestFinished } from 'vitest';
import { Connections } from '../../../../src/adapters/http/server/connections.ts';
import type { Connection } from '../../../../src/adapters/http/server/connection.ts';
import {
  createLimitedServer,
  type LimitedServer,
} from '../../../../src/adapters/http/server/create-limited-server.ts';
import { SERVER_LIMITS } from '../../../../src/adapters/http/server/limits.ts';
import { MemoryClient, settled } from '../../../support/memory-client.ts';

export const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
export const post = (path: string, headers: string) => `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

/** Connections in memory to Node's HTTP server. What the handler gets waits for the test to answer it. */
export class Service {
  /** The targets of the requests, in the order in which they were handled. */
  readonly handled: string[] = [];
  parsed = 0;
  answersAtOnce = false;
  onHandled: (response: ServerResponse) => void = () => {};
  readonly connections = new Connections({
    handle: (request, response) => this.#handle(request, response),
    maxHeldBytes: Infinity,
    onCutOff: () => {},
  });
  readonly #server: LimitedServer;
  readonly #responses: ServerResponse[] = [];

  readonly #handle: RequestListener = (request, response) => {
    this.handled.push(request.url ?? '');
    this.#responses.push(response);
    this.onHandled(response);
    // As soon as the application can.
    if (this.answersAtOnce) queueMicrotask(() => void this.answer());
  };

  constructor(server: LimitedServer) {
    this.#server = server;
    server.on('request', ({ socket }, answer) => {
      this.parsed++;
      this.connections.of(socket)!.accept(answer);
    });
    server.on('clientError', (_, socket) => (this.connections.of(socket)!.isStopped = true));
  }

  static async start(): Promise<Service> {
    return new Service(await createLimitedServer(SERVER_LIMITS, undefined));
  }

  connect(fields: object = {}): { readonly client: MemoryClient; readonly connection: Connection } {
    const [near, far] = duplexPair();
    const socket = Object.assign(near as Socket, fields);
    this.#server.emit('connection', socket);
    this.connections.add(socket);
    onTestFinished(() => void socket.destroy());
    return { client: new MemoryClient(far), connection: this.connections.of(socket)! };
  }

  /** Answers the oldest request without an answer. Resolves when everything has happened that follows. */
  answer(body: string | Buffer = 'x'): Promise<void> {
    this.#responses.shift()!.end(body);
    return settled();
  }

  /** Answers every request, now and later. */
  answerAll(): Promise<void> {
    this.answersAtOnce = true;
    return this.answer();
  }
}

/** A service with one connection, whose client has sent these bytes. */
export async function connected(bytes = '', fields: object = {}) {
  const service = await Service.start();
  const { client, connection } = service.connect(fields);
  if (bytes !== '') await client.send(bytes);
  return { service, client, connection };
}
