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

/**
 * Calls back with each whole answer on a connection that has one request in flight at most.
 *
 * @returns a function that stops it
 */
export function onAnswer(socket: Socket, take: (answer: string) => void): () => void {
  let received = '';
  const onData = (chunk: Buffer) => {
    received += chunk.toString('latin1');
    const head = received.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/Content-Length: (\d+)/.exec(received)?.[1]);
    if (received.length < head + 4 + length) return;
    const answer = received;
    received = '';
    take(answer);
  };
  socket.on('data', onData);
  return () => void socket.off('data', onData);
}

/**
 * Sends one request, and waits for its answer.
 *
 * @returns the latency in milliseconds
 * @throws {Error} when the answer has another status
 */
export async function ask(socket: Socket, request: string, expectedStatus: number): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const stop = onAnswer(socket, resolve);
  socket.once('error', reject);
  const sent = performance.now();
  socket.write(request);
  const answer = await promise;
  const ms = performance.now() - sent;
  stop();
  socket.off('error', reject);
  if (!answer.startsWith(`HTTP/1.1 ${expectedStatus} `)) throw new Error(answer);
  return ms;
}
