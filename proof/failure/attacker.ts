/** Floods a server from a thread of its own, so that the flood does not delay the clients that are measured. */
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, workerData } from 'node:worker_threads';

export type Attack = {
  readonly port: number;
  /** The connections come from this many addresses of 127.0.0.0/8, in turn. */
  readonly addressCount: number;
  readonly connectionCount: number;
  /** The text that is sent first on each connection. */
  readonly firstText: string;
  /** The text that is then sent on each connection every `everyMs`. */
  readonly repeatedText?: readonly [text: string, everyMs: number];
  /** Each connection reads its answers with 1 KiB per second. */
  readonly readsSlowly?: true;
  /** Two numbers in shared memory: how many connections were closed, and how many bytes were read. */
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
    // The second part differs between attacks, so a flood from one address and a flood from many share no address.
    const localAddress = `127.${addressCount}.${address >> 8}.${(address & 255) + 1}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    // HAProxy resets the connections that it refuses.
    socket.on('error', () => {}).on('close', () => counts[0]!++);
    socket.write(bytes);
    if (readsSlowly === undefined) socket.on('data', ({ length }) => (counts[1]! += length));
    else setInterval(() => (counts[1]! += socket.read(1024)?.length ?? 0), 1_000);
    if (repeatedText !== undefined)
      setInterval(() => socket.writable && socket.write(repeatedText[0]), repeatedText[1]);
    // A hundred connections begin at the same time.
    if (index % 100 === 0) await sleep(1);
  }
}

if (!isMainThread) await attack(workerData as Attack);
