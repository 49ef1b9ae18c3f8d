import { connect, type Socket } from 'node:net';

/** What was measured of some requests. */
export type Load = {
  readonly requests: number;
  readonly seconds: number;
  /** Of each request, in milliseconds, in ascending order. */
  readonly latencies: Float64Array;
};

export type LoadOptions = {
  readonly port: number;
  /** The whole request, as bytes on the wire. */
  readonly requests: readonly Buffer[];
  readonly connections: number;
  /** For how long. */
  readonly ms: number;
  /** The statuses that an answer may have. */
  readonly statuses: readonly number[];
};

/**
 * As many requests as the server answers: each connection sends its next request when it has its answer.
 *
 * @param options.sleepless polls instead of waiting for answers. Waking a sleeping client takes 7 to 13 us of the CPU
 * time of the server's `write`, the more often the slower the server is
 */
export async function closedLoop({
  port,
  requests,
  connections,
  ms,
  statuses,
  sleepless,
}: LoadOptions & { readonly sleepless: boolean }): Promise<Load> {
  const latencies: number[] = [];
  let isOver = false;
  const poll = () => void (isOver || setImmediate(poll));
  if (sleepless) poll();
  let sent = 0;
  const started = performance.now();
  const client = async () => {
    const connection = await Connection.open(port, statuses);
    for (let at = performance.now(); at < started + ms; at = performance.now()) {
      await connection.send(requests[sent++ % requests.length]!);
      latencies.push(performance.now() - at);
    }
    connection.close();
  };
  try {
    await Promise.all(Array.from({ length: connections }, client));
  } finally {
    isOver = true;
  }
  return result(latencies, started);
}

/** Each request once, in their order. */
export async function once(
  port: number,
  requests: readonly Buffer[],
  statuses: readonly number[],
): Promise<void> {
  const connection = await Connection.open(port, statuses);
  for (const request of requests) await connection.send(request);
  connection.close();
}

/**
 * Requests at a fixed rate, whatever the server does. A latency counts from the instant at which the request was due,
 * and so includes the time that it waited for a connection: there is no coordinated omission.
 */
export async function fixedRate(options: LoadOptions & { readonly perSecond: number }): Promise<Load> {
  const { port, requests, connections, ms, statuses, perSecond } = options;
  const latencies: number[] = [];
  const idle = await Promise.all(Array.from({ length: connections }, () => Connection.open(port, statuses)));
  const open = [...idle];
  /** The numbers of the requests that wait for a connection. */
  const waiting: number[] = [];
  const started = performance.now();
  const total = Math.max(1, Math.floor((ms / 1000) * perSecond));
  const dueAt = (number: number) => started + (number * 1000) / perSecond;
  let issued = 0;
  const finished = Promise.withResolvers<void>();

  const serve = async (connection: Connection, first: number): Promise<void> => {
    for (let number: number | undefined = first; number !== undefined; number = waiting.shift()) {
      await connection.send(requests[number % requests.length]!);
      latencies.push(performance.now() - dueAt(number));
      if (latencies.length === total) finished.resolve();
    }
    idle.push(connection);
  };
  const issue = (): void => {
    for (; issued < total && dueAt(issued) <= performance.now(); issued++) {
      const connection = idle.pop();
      if (connection === undefined) waiting.push(issued);
      else serve(connection, issued).catch(finished.reject);
    }
    // A timer would be up to a millisecond late.
    if (issued < total) setImmediate(issue);
  };
  issue();
  await finished.promise;
  for (const connection of open) connection.close();
  return result(latencies, started);
}

export function percentile({ latencies }: Pick<Load, 'latencies'>, q: number): number {
  return latencies[Math.min(latencies.length - 1, Math.ceil(latencies.length * q) - 1)] ?? Number.NaN;
}

function result(latencies: readonly number[], started: number): Load {
  return {
    requests: latencies.length,
    seconds: (performance.now() - started) / 1000,
    latencies: Float64Array.from(latencies).toSorted(),
  };
}

const HEAD_END = Buffer.from('\r\n\r\n');

/** An HTTP/1.1 connection that has one request in flight at most. */
class Connection {
  readonly #socket: Socket;
  readonly #statuses: readonly number[];
  #bytes: Buffer | undefined;
  #awaited: PromiseWithResolvers<void> | undefined;

  static async open(port: number, statuses: readonly number[]): Promise<Connection> {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    const connected = Promise.withResolvers<void>();
    socket.once('connect', connected.resolve).once('error', connected.reject);
    await connected.promise;
    return new Connection(socket, statuses);
  }

  private constructor(socket: Socket, statuses: readonly number[]) {
    this.#socket = socket;
    this.#statuses = statuses;
    socket.on('data', (bytes: Buffer) => this.#receive(bytes));
    socket.on('error', (error) => this.#awaited?.reject(error));
    socket.on('close', () => this.#awaited?.reject(new Error('the server closed the connection')));
  }

  send(request: Buffer): Promise<void> {
    this.#awaited = Promise.withResolvers<void>();
    this.#socket.write(request);
    return this.#awaited.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#bytes === undefined ? chunk : Buffer.concat([this.#bytes, chunk]);
    this.#bytes = bytes;
    const head = bytes.indexOf(HEAD_END);
    if (head === -1) return;
    const text = bytes.toString('latin1', 0, head);
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1]);
    if (bytes.length < head + HEAD_END.length + length) return;
    this.#bytes = undefined;
    const status = Number(text.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    if (this.#statuses.includes(status)) this.#awaited?.resolve();
    else this.#awaited?.reject(new Error(`unexpected answer: ${bytes.toString()}`));
  }
}
