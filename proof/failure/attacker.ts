/** The thread of a flood, so that it does not delay the clients whose times are measured. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, workerData } from 'node:worker_threads';

export type Attack = {
  readonly port: number;
  /** Connects from so many addresses of loopback, in turn. */
  readonly addressCount: number;
  readonly connectionCount: number;
  /** Sent on each connection. */
  readonly firstText: string;
  /** Sent after it, every so many milliseconds. */
  readonly repeatedText?: readonly [text: string, everyMs: number];
  /** Answers are read one kilobyte per second. */
  readonly readsSlowly?: true;
  /** In shared memory: how many connections were closed, and how many bytes were read. */
  readonly counts: Float64Array;
};

async function attack({
  port,
  addressCount,
  connectionCount,
  firstText,
  repeatedText,
  readsSlowly,
  counts,
}: Attack) {
  const bytes = Buffer.from(firstText);
  for (let index = 0; index < connectionCount; index++) {
    const address = index % addressCount;
    // The single address is none of the many.
    const localAddress = `127.${addressCount}.${address >> 8}.${(address & 255) + 1}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    // HAProxy resets those that it refuses.
    socket.on('error', () => {}).on('close', () => counts[0]!++);
    socket.write(bytes);
    if (readsSlowly === undefined) socket.on('data', ({ length }) => (counts[1]! += length));
    else setInterval(() => (counts[1]! += socket.read(1024)?.length ?? 0), 1_000);
    if (repeatedText !== undefined)
      setInterval(() => socket.writable && socket.write(repeatedText[0]), repeatedText[1]);
    // A hundred connect at once.
    if (index % 100 === 0) await sleep(1);
  }
}

if (!isMainThread) await attack(workerData as Attack);
