import type { Socket } from 'node:net';

/**
 * How much is parsed at a time, in bytes, rounded up to the end of a request's headers. A short request takes about
 * thirty times its bytes in memory once it is parsed.
 */
const PORTION_BYTES = 256;

/** What ends the headers of a request. */
export const HEADERS_END = '\r\n\r\n';

export type InputListeners = {
  /** More has arrived. */
  readonly onData: (bytes: number) => void;
  /** Node has resumed the socket while input was held back, because it wants to read a body. */
  readonly onResume: () => void;
  /** The client has ended its side, and everything before that is parsed. Call {@link UnparsedInput.parseEnd}. */
  readonly onEnd: () => void;
};

/**
 * What a client has sent and Node's HTTP parser has not seen. Node parses everything on arrival, in its own `data` and
 * `end` listeners. This class takes those listeners off the socket and calls them a portion at a time.
 */
export class UnparsedInput {
  readonly #socket: Socket;
  #parse: (bytes: Buffer) => void;
  readonly #parseEnd: () => void;
  #onEnd: () => void;
  #bytes: Buffer | undefined;
  /** The client has ended its side, but the parser does not know that yet. */
  #hasEnded = false;
  #isPaused = false;

  /** @param socket from the `connection` event of an HTTP server */
  constructor(socket: Socket, { onData, onResume, onEnd }: InputListeners) {
    this.#socket = socket;
    this.#onEnd = onEnd;
    this.#parse = socket.listeners('data').at(-1) as () => void;
    this.#parseEnd = socket.listeners('end').at(-1) as () => void;
    socket.off('data', this.#parse).off('end', this.#parseEnd);
    socket.on('data', (bytes: Buffer) => {
      const all = this.#bytes === undefined ? bytes : Buffer.concat([this.#bytes, bytes]);
      this.#bytes = all;
      onData(bytes.length);
      if (this.#bytes !== undefined) this.#copyOutOfPool(this.#bytes, all);
    });
    socket.on('end', () => {
      if (this.isEmpty) this.#onEnd();
      else this.#hasEnded = true;
    });
    socket.on('resume', () => {
      if (!this.isEmpty) onResume();
    });
  }

  get isEmpty(): boolean {
    return this.#bytes === undefined;
  }

  /** How much memory the input takes, in bytes. A buffer counts in full until all of it is parsed. */
  get heldBytes(): number {
    return (this.#bytes?.buffer.byteLength ?? 0) + this.#socket.readableLength;
  }

  /**
   * Copies the bytes that are left of `all` if they are in a pool, as small buffers and those of TLS are. They would keep
   * the whole pool in memory, and count as such.
   */
  #copyOutOfPool(left: Buffer, all: Buffer): void {
    if (left.buffer !== all.buffer || all.buffer.byteLength === all.length) return;
    this.#bytes = Buffer.allocUnsafeSlow(left.length);
    left.copy(this.#bytes);
  }

  /** Parses about 256 bytes, up to the end of a request's headers, and returns them. Call it when there is input. */
  parsePortion(): Buffer {
    const bytes = this.#bytes!;
    const found =
      bytes.length <= PORTION_BYTES ? -1 : bytes.indexOf(HEADERS_END, PORTION_BYTES - HEADERS_END.length);
    const end = found === -1 ? bytes.length : found + HEADERS_END.length;
    this.#bytes = end === bytes.length ? undefined : bytes.subarray(end);
    const portion = bytes.subarray(0, end);
    this.#parse(portion);
    return portion;
  }

  /** Reads no more from the client. */
  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** Reads on, and passes on the end of the client's side. Call it when the input is empty. */
  resume(): void {
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    if (this.#hasEnded) {
      this.#hasEnded = false;
      this.#onEnd();
    }
  }

  /** Tells the parser that the client has ended its side. */
  parseEnd(): void {
    this.#parseEnd();
  }

  /** Drops what has arrived and everything that will arrive. */
  discard(): void {
    this.#parse = () => {};
    this.#onEnd = () => {};
    this.#bytes = undefined;
    if (this.#isPaused) this.#socket.resume();
  }
}
