import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { parseAnswer } from './raw-connection.ts';

type Flood = {
  /** The status that every answer must have. */
  readonly status: number;
  /** Of the request with this number. */
  readonly headers: (n: number) => Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly body?: string;
};

const CONNECTIONS = 4;

/** How many requests wait for their answers on a connection. With more, the service would end it. */
const PIPELINED = 8;

/** Sends this many requests. They are pipelined, because the time of the service counts and not that of the client. */
export async function flood(url: string, requests: number, how: Flood): Promise<void> {
  const each = Math.ceil(requests / CONNECTIONS);
  const parts = Array.from({ length: CONNECTIONS }, (_, index) => {
    return sendAll(new URL(url), index * each, Math.min((index + 1) * each, requests), how);
  });
  await Promise.all(parts);
}

/** Sends the requests with the numbers from `first` to the one before `end`. */
async function sendAll(
  { hostname, port, pathname }: URL,
  first: number,
  end: number,
  { status, headers, body = '' }: Flood,
): Promise<void> {
  const method = body === '' ? 'GET' : 'POST';
  const textOf = (n: number) => {
    const fields = Object.entries({
      host: 'x',
      'content-length': `${Buffer.byteLength(body)}`,
      ...headers(n),
    });
    const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    return `${method} ${pathname} HTTP/1.1\r\n${head}\r\n${body}`;
  };
  const socket = connect({ host: hostname, port: Number(port) });
  await once(socket, 'connect');
  let sent = first;
  let answered = first;
  const sendSome = () => {
    const next = Math.min(sent + PIPELINED, end);
    socket.write(Array.from({ length: next - sent }, (_, index) => textOf(sent + index)).join(''));
    sent = next;
  };
  sendSome();
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = Buffer.concat([bytes, chunk]);
    for (let next = parseAnswer(bytes, method); next !== undefined; next = parseAnswer(bytes, method)) {
      expect(next.answer.status).toBe(status);
      bytes = bytes.subarray(next.length);
      answered++;
    }
    if (answered === end) break;
    if (answered === sent) sendSome();
  }
  expect(answered).toBe(end);
}
