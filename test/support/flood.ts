import { expect } from 'vitest';
import { connect } from './client.ts';

type Flood = {
  /** The status that every answer must have. */
  readonly status: number;
  /** Of the request with this number. */
  readonly headers: (n: number) => Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly body?: string;
};

const CLIENTS = 4;

/** How many requests wait for their answers on a connection. With more, the service would end it. */
const PIPELINED = 8;

/** Sends this many requests. They are pipelined, because the time of the service counts and not that of the client. */
export async function flood(url: string, requests: number, how: Flood): Promise<void> {
  const numbers = Array.from({ length: requests }, (_, n) => n);
  const client = async (): Promise<void> => {
    for (let some = numbers.splice(0, PIPELINED); some.length > 0; some = numbers.splice(0, PIPELINED)) {
      const connection = await connect(url);
      await connection.send(some.map((n) => textOf(url, how, n)).join(''));
      for (const _ of some) expect((await connection.answer()).status).toBe(how.status);
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

function textOf(url: string, { headers, body = '' }: Flood, n: number): string {
  const fields = { host: 'x', 'content-length': `${Buffer.byteLength(body)}`, ...headers(n) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${body === '' ? 'GET' : 'POST'} ${new URL(url).pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`;
}
