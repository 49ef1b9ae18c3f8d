import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Answer } from './answer.ts';
import { expectConforms } from './conformance.ts';
import { listenOnLoopback } from './on-loopback.ts';
import { RawConnection } from './raw-connection.ts';

export const KEY = 'a-key-of-the-tests';

type Request = {
  readonly method?: string;
  /** Default: {@link KEY}. With an empty string, the request has no Authorization header. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Sends a request to a running service, and checks the answer against the OpenAPI document. A body is sent as JSON. */
export async function ask(url: string, request: Request = {}): Promise<Answer> {
  const { body, key = KEY, method = body === undefined ? 'GET' : 'POST', headers = {} } = request;
  const response = await fetch(url, {
    method,
    headers: {
      ...(key !== '' && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body }),
  });
  const answer = {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    rawHeaders: [...response.headers].flat(),
    body: await response.text(),
  };
  const { pathname, search } = new URL(url);
  expectConforms({ method, path: pathname + search, ...answer });
  return answer;
}

/** Opens a connection to the server of this URL. The connection uses TLS if the scheme is `https`. */
export function connect(url: string): Promise<RawConnection> {
  const { protocol, port } = new URL(url);
  return RawConnection.open(Number(port), { tls: protocol === 'https:' });
}

const PET_BODY = '{"name":"Rex","categoryId":9223372036854775807}';
const HALF_LENGTH = PET_BODY.length / 2;

/** Sends a createPet request without the second half of its body. */
export async function startStalledCreate(
  url: string,
  key = KEY,
): Promise<{
  /** Resolves when the service closes the connection without an answer. Rejects if the service sent an answer. */
  readonly cutOff: () => Promise<void>;
  /** Sends the second half of the body. Resolves with the answer after the service has closed the connection. */
  readonly complete: () => Promise<{ status: number; body: string; connection: unknown }>;
}> {
  const connection = await connect(url);
  const head = [
    'POST /v1/pets HTTP/1.1',
    'Host: petstore.example',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${PET_BODY.length}`,
    // Because of this header, the service answers 100 as soon as it has read the head of the request.
    'Expect: 100-continue',
  ];
  await connection.send(`${head.join('\r\n')}\r\n\r\n${PET_BODY.slice(0, HALF_LENGTH)}`);
  const { status } = await connection.answer();
  if (status !== 100) throw new Error(`answered ${status}`);
  return {
    cutOff: () => connection.closed(),
    complete: async () => {
      await connection.send(PET_BODY.slice(HALF_LENGTH));
      const answer = await connection.answer();
      await connection.closed();
      return { status: answer.status, body: answer.body, connection: answer.headers['connection'] };
    },
  };
}

/**
 * Starts a server on loopback that accepts connections and sends nothing. The server stops when the running test ends.
 * The promise `asked` resolves when the first client has connected.
 */
export async function silentServer(): Promise<{ readonly port: string; readonly asked: Promise<unknown> }> {
  // A client may reset its connection. Without this listener, the error would end this process.
  const server = createServer((socket) => socket.on('error', () => {}));
  return { port: String(await listenOnLoopback(server)), asked: once(server, 'connection') };
}

/** The result of `complete` in {@link startStalledCreate} if the storage had no pets before the request. */
export const CREATED = {
  status: 201,
  body: '{"id":1,"name":"Rex","categoryId":9223372036854775807,"status":"available"}',
  connection: 'close',
};
