import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Answer } from './answer.ts';
import { expectConforms } from './conformance.ts';
import { onLoopback } from './on-loopback.ts';
import { RawConnection } from './raw-connection.ts';

export const KEY = 'a-key-of-the-tests';

type Request = {
  readonly method?: string;
  /** Default: {@link KEY}. An empty string sends no key. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** Sends a request to a running service, and checks the answer against the OpenAPI document. A body is JSON. */
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

export function connect(url: string): Promise<RawConnection> {
  const { protocol, port } = new URL(url);
  return RawConnection.open(Number(port), { tls: protocol === 'https:' });
}

const PET = '{"name":"Rex","categoryId":9223372036854775807}';
const HALF = PET.length / 2;

/** Starts a createPet request, and holds back the second half of its body. */
export async function stalledCreate(
  url: string,
  key = KEY,
): Promise<{
  /** Resolves when the service closes the connection. Rejects when it has answered. */
  readonly cutOff: () => Promise<void>;
  /** Sends the rest. Resolves with the answer when the service has closed the connection. */
  readonly complete: () => Promise<{ status: number; body: string; connection: unknown }>;
}> {
  const connection = await connect(url);
  const head = [
    'POST /v1/pets HTTP/1.1',
    'Host: petstore.example',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${PET.length}`,
    // The service answers 100 when it has the head.
    'Expect: 100-continue',
  ];
  await connection.send(`${head.join('\r\n')}\r\n\r\n${PET.slice(0, HALF)}`);
  const { status } = await connection.answer();
  if (status !== 100) throw new Error(`answered ${status}`);
  return {
    cutOff: () => connection.closed(),
    complete: async () => {
      await connection.send(PET.slice(HALF));
      const answer = await connection.answer();
      await connection.closed();
      return { status: answer.status, body: answer.body, connection: answer.headers['connection'] };
    },
  };
}

/** A server on loopback that accepts connections and sends nothing. It stops when the running test ends. */
export async function silentServer(): Promise<{ readonly port: string; readonly asked: Promise<unknown> }> {
  // A client may reset its connection.
  const server = createServer((socket) => socket.on('error', () => {}));
  return { port: String(await onLoopback(server)), asked: once(server, 'connection') };
}

/** The answer to {@link stalledCreate} in an empty catalogue. */
export const CREATED = {
  status: 201,
  body: '{"id":1,"name":"Rex","categoryId":9223372036854775807,"status":"available"}',
  connection: 'close',
};
