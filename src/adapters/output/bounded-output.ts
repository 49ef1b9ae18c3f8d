import { write, writeSync } from 'node:fs';

/** A batch is written when it has this many bytes, or after this time. */
const BATCH_BYTES = 64 * 1024;
const BATCH_MS = 100;

const MAX_WAITING_BYTES = 1024 * 1024;

/** The pause after a failed write doubles with each failure in a row. */
const FIRST_RETRY_MS = 5;
const LONGEST_RETRY_MS = 100;

const EXIT_MS = 500;

export type BoundedOutputOptions = {
  readonly format?: (line: string) => string;
  /** Called with the number of dropped lines when there is room again. */
  readonly onRoom?: (lines: number) => void;
};

/**
 * Writes lines to a file descriptor that may be full, closed or without a reader. `write` never blocks or throws.
 * Lines beyond `MAX_WAITING_BYTES` are dropped and counted. A failed write is retried until the process exits.
 */
export class BoundedOutput {
  readonly #fd: number;
  readonly #options: BoundedOutputOptions;
  #waitingText = '';
  #waitingBytes = 0;
  #batch: Buffer = Buffer.alloc(0);
  #state: 'idle' | 'writing' | 'pausing' = 'idle';
  #timer: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #droppedLines = 0;
  readonly #callbacks: (() => void)[] = [];

  /** @param fd a regular file, or a non-blocking descriptor */
  constructor(fd: number, options: BoundedOutputOptions = {}) {
    this.#fd = fd;
    this.#options = options;
  }

  write(line: string): void {
    const text = this.#options.format?.(line) ?? line;
    const bytes = Buffer.byteLength(text);
    const total = this.#batch.length + this.#waitingBytes + bytes;
    if (total > MAX_WAITING_BYTES || this.#droppedLines > 0) this.#droppedLines++;
    else {
      this.#waitingText += text;
      this.#waitingBytes += bytes;
    }
    if (this.#waitingBytes >= BATCH_BYTES) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), BATCH_MS).unref();
  }

  /** Writes immediately. Calls back when everything is written, or when a write has failed. */
  flush(callback: () => void = () => {}): void {
    if (this.#state === 'pausing') return callback();
    this.#callbacks.push(callback);
    this.#write();
  }

  /** Call it when the process exits. Writes the remaining lines, and blocks for at most `EXIT_MS`. */
  end(): void {
    // Another thread completes the write that is under way: Node waits for that thread.
    const unwrittenBatch = this.#state === 'writing' ? Buffer.alloc(0) : this.#batch;
    this.#batch = Buffer.alloc(0);
    // The second `#takeBatch` takes the report of dropped lines, which the first one adds.
    const remaining = Buffer.concat([unwrittenBatch, this.#takeBatch(), this.#takeBatch()]);
    writeNow(this.#fd, remaining, performance.now() + EXIT_MS);
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#state !== 'idle') return;
    if (this.#batch.length === 0) this.#batch = this.#takeBatch();
    if (this.#batch.length === 0) return this.#callBack();
    this.#state = 'writing';
    write(this.#fd, this.#batch, this.#onWritten);
  }

  readonly #onWritten = (error: Error | null, bytes: number): void => {
    if (error !== null || bytes === 0) return this.#pause();
    this.#state = 'idle';
    this.#retryMs = FIRST_RETRY_MS;
    this.#batch = this.#batch.subarray(bytes);
    // `#timer` is `undefined` if the timer fired during this write.
    const isDue = this.#waitingBytes >= BATCH_BYTES || this.#timer === undefined;
    if (this.#batch.length > 0 || isDue) this.#write();
  };

  #pause(): void {
    this.#state = 'pausing';
    setTimeout(() => {
      this.#state = 'idle';
      this.#write();
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
    this.#callBack();
  }

  #takeBatch(): Buffer {
    const batch = Buffer.from(this.#waitingText);
    this.#waitingText = '';
    this.#waitingBytes = 0;
    const droppedLines = this.#droppedLines;
    this.#droppedLines = 0;
    // The report belongs after the lines before the gap, so it goes into the next batch.
    if (droppedLines > 0) this.#options.onRoom?.(droppedLines);
    return batch;
  }

  #callBack(): void {
    for (const callback of this.#callbacks.splice(0)) callback();
  }
}

/** @param untilMs the time of `performance.now()` after which the remaining bytes are lost */
function writeNow(fd: number, bytes: Buffer, untilMs: number): void {
  let remaining = bytes;
  while (remaining.length > 0 && performance.now() < untilMs) {
    try {
      remaining = remaining.subarray(writeSync(fd, remaining));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FIRST_RETRY_MS);
    }
  }
}
