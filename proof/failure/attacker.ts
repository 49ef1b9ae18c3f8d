// This module floods a server. It runs in a worker thread, so the flood does not delay the clients that are measured.
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, workerData } from 'node:worker_threads';

export type Attack = {
  readonly port: number;
  /** The number of local addresses, all in 127.0.0.0/8, from which the connections come. */
  readonly addressCount: number;
  readonly connectionCount: number;
  /** The text that is sent first on each connection. */
  readonly firstText: string;
  /** A text that is sent on each connection after `firstText`, once per `everyMs` milliseconds. */
  readonly repeatedText?: readonly [text: string, everyMs: number];
  /** Each connection reads at most 1 KiB of its answers per second. Without this field, it reads all it receives. */
  readonly readsSlowly?: true;
  /** Two numbers in shared memory: how many connections were closed, and how many bytes were read. */
  readonly counts: Float64Array;
};

async function flood({ port, addressCount, connectionCount, firstText, counts, ...options }: Attack) {
  const [repeatedText, everyMs] = options.repeatedText ?? [];
  const bytes = Buffer.from(firstText);
  for (let index = 0; index < connectionCount; index++) {
    const address = index % addressCount;
    // The second number of the address is `addressCount`, so floods with different counts share no address.
    const localAddress = `127.${addressCount}.${address >> 8}.${(address & 255) + 1}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    // HAProxy resets the connections that it refuses. Each reset causes an error, which is expected here.
    socket.on('error', () => {}).on('close', () => counts[0]!++);
    socket.write(bytes);
    if (options.readsSlowly === undefined) socket.on('data', ({ length }) => (counts[1]! += length));
    else setInterval(() => (counts[1]! += socket.read(1024)?.length ?? 0), 1_000);
    if (repeatedText !== undefined) setInterval(() => socket.writable && socket.write(repeatedText), everyMs);
    // The thread pauses once per hundred connections, so that it can process their events.
    if (index % 100 === 0) await sleep(1);
  }
}

if (!isMainThread) await flood(workerData as Attack);
