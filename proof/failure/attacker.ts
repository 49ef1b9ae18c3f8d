/** The thread of a flood, so that it does not delay the clients whose times are measured. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, workerData } from 'node:worker_threads';

export type Attack = {
  readonly port: number;
  /** Connects from so many addresses of loopback, in turn. */
  readonly addresses: number;
  readonly connections: number;
  /** Sent on each connection. */
  readonly first: string;
  /** Sent after it, every so many milliseconds. */
  readonly more?: readonly [text: string, everyMs: number];
  /** Answers are read one kilobyte per second. */
  readonly readsSlowly?: true;
  /** In shared memory: how many connections were closed, and how many bytes were read. */
  readonly counts: Float64Array;
};

async function attack({ port, addresses, connections, first, more, readsSlowly, counts }: Attack) {
  const bytes = Buffer.from(first);
  for (let index = 0; index < connections; index++) {
    const address = index % addresses;
    // The single address is none of the many.
    const localAddress = `127.${addresses}.${address >> 8}.${(address & 255) + 1}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    // HAProxy resets those that it refuses.
    socket.on('error', () => {}).on('close', () => counts[0]!++);
    socket.write(bytes);
    if (readsSlowly === undefined) socket.on('data', ({ length }) => (counts[1]! += length));
    else setInterval(() => (counts[1]! += socket.read(1024)?.length ?? 0), 1_000);
    if (more !== undefined) setInterval(() => socket.writable && socket.write(more[0]), more[1]);
    // A hundred connect at once.
    if (index % 100 === 0) await sleep(1);
  }
}

if (!isMainThread) await attack(workerData as Attack);
