import type { Duplex } from 'node:stream';

/** Waits until everything has happened that needs no timer and no other process. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** A client at the other end of a connection in memory, as `duplexPair` makes it. */
export class MemoryClient {
  readonly socket: Duplex;
  /** What it has been sent. */
  text = '';

  constructor(socket: Duplex) {
    this.socket = socket;
    socket.on('data', (bytes) => (this.text += String(bytes)));
  }

  async send(bytes: string | Uint8Array): Promise<void> {
    this.socket.write(bytes);
    await settled();
  }

  /** The status of each answer. */
  get statuses(): readonly number[] {
    return [...this.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** The `Connection` header of each answer. */
  get announced(): readonly string[] {
    return [...this.text.matchAll(/^Connection: (.*)\r$/gm)].map(([, value]) => value!);
  }

  get hasEnded(): boolean {
    return this.socket.readableEnded;
  }
}
