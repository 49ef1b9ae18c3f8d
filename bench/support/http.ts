import { connect, type Socket } from 'node:net';

export function getRequest(path: string, key: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`;
}

/** createPet */
export function postRequest(body: string, key: string): string {
  return (
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}

export function dial(port: number): Socket {
  return connect({ host: '127.0.0.1', port, noDelay: true });
}

/** Resolves with the next whole answer on a connection that has one request in flight. */
function nextAnswer(socket: Socket): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = '';
  const onData = (chunk: Buffer) => {
    received += chunk.toString('latin1');
    const head = received.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/Content-Length: (\d+)/.exec(received)?.[1]);
    if (received.length < head + 4 + length) return;
    socket.off('data', onData);
    socket.off('error', reject);
    resolve(received);
  };
  socket.on('data', onData);
  socket.once('error', reject);
  return promise;
}

/**
 * Sends one request, and waits for its answer.
 *
 * @returns the latency in milliseconds
 * @throws {Error} when the answer has another status
 */
export async function ask(socket: Socket, request: string, expectedStatus: number): Promise<number> {
  const next = nextAnswer(socket);
  const sent = performance.now();
  socket.write(request);
  const answer = await next;
  const ms = performance.now() - sent;
  if (!answer.startsWith(`HTTP/1.1 ${expectedStatus} `)) throw new Error(answer);
  return ms;
}
