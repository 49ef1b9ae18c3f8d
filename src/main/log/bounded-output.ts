import { write, writeSync } from 'node:fs';

/** Waiting lines are written when they are this many bytes, or after this many milliseconds. */
const BATCH = { bytes: 8 * 1024, ms: 100 };

/** How many bytes may wait. */
const MAX_BYTES = 1024 * 1024;

/** How many more bytes audit lines may take, because request lines outnumber them. */
const AUDIT_RESERVE_BYTES = 256 * 1024;

/** The pause after a failed write. It doubles with each failure in a row. */
const RETRY_MS = { first: 5, longest: 100 };

/** How long the end of the process may wait for the descriptor. */
const END_MS = 500;

export type Dropped = { readonly lines: number; readonly auditLines: number };

const NOTHING: Dropped = { lines: 0, auditLines: 0 };

type Options = {
  /** Turns a line into the text that is written. */
  readonly form?: (line: string) => string;
  /** Called when there is room again after lines were dropped. */
  readonly onRoom?: (dropped: Dropped) => void;
};

/**
 * Lines for a file descriptor that may be full, closed or not read. Writing never blocks and never throws: lines wait
 * in memory up to a bound; beyond it they are dropped and counted. A failed write is tried again until the process
 * ends. A line that was cut short is completed before the next one begins.
 */
export class BoundedOutput {
  readonly #fd: number;
  readonly #form: Options['form'];
  readonly #onRoom: Options['onRoom'];
  #waiting = '';
  #waitingBytes = 0;
  /** Taken from `#waiting`, and not written yet. */
  #taken: Buffer = Buffer.alloc(0);
  #state: 'idle' | 'writing' | 'pausing' = 'idle';
  #timer: NodeJS.Timeout | undefined;
  #retryMs = RETRY_MS.first;
  #dropped: Dropped | undefined;
  #callbacks: (() => void)[] = [];

  /** @param fd of a regular file, or non-blocking */
  constructor(fd: number, { form, onRoom }: Options = {}) {
    this.#fd = fd;
    this.#form = form;
    this.#onRoom = onRoom;
  }

  write(line: string): void {
    const text = this.#form === undefined ? line : this.#form(line);
    const bytes = Buffer.byteLength(text);
    const total = this.#taken.length + this.#waitingBytes + bytes;
    if ((total > MAX_BYTES || this.#dropped !== undefined) && this.#drops(line, total)) return;
    this.#waiting += text;
    this.#waitingBytes += bytes;
    if (this.#waitingBytes >= BATCH.bytes) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), BATCH.ms).unref();
  }

  /** Writes without waiting for a batch. Calls back when all is written or a write has failed. */
  flush(callback: () => void = () => {}): void {
    if (this.#state === 'pausing') return callback();
    this.#callbacks.push(callback);
    this.#write();
  }

  /**
   * For the end of the process. Waits for the descriptor, but not for long.
   *
   * @returns what could not be written, if anything
   */
  end(): Dropped | undefined {
    const deadline = performance.now() + END_MS;
    // A write in another thread is completed by the end of the process.
    const rest = this.#state === 'writing' ? Buffer.alloc(0) : this.#taken;
    this.#taken = Buffer.alloc(0);
    const left = writeNow(this.#fd, Buffer.concat([rest, this.#take()]), deadline);
    const lines = left.toString().split('\n').slice(0, -1);
    const { lines: before, auditLines } = this.#dropped ?? NOTHING;
    if (lines.length + before === 0) return undefined;
    if (lines.length === 0) {
      this.#tellDropped();
      if (writeNow(this.#fd, this.#take(), deadline).length === 0) return undefined;
    }
    return { lines: before + lines.length, auditLines: auditLines + lines.filter(isAudit).length };
  }

  /** @param total how many bytes would wait together with this line */
  #drops(line: string, total: number): boolean {
    const audit = isAudit(line);
    if (audit && total <= MAX_BYTES + AUDIT_RESERVE_BYTES) return false;
    const { lines, auditLines } = this.#dropped ?? NOTHING;
    this.#dropped = { lines: lines + 1, auditLines: auditLines + (audit ? 1 : 0) };
    return true;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#state !== 'idle') return;
    if (this.#taken.length === 0) this.#taken = this.#take();
    if (this.#taken.length === 0) return this.#callBack();
    this.#state = 'writing';
    write(this.#fd, this.#taken, this.#written);
  }

  readonly #written = (error: Error | null, bytes: number): void => {
    if (error !== null || bytes === 0) return this.#pause();
    this.#state = 'idle';
    this.#retryMs = RETRY_MS.first;
    this.#taken = this.#taken.subarray(bytes);
    // Not at once: else every few lines would be followed by another report.
    const hasRoom = this.#taken.length + this.#waitingBytes <= MAX_BYTES / 2;
    if (hasRoom && this.#dropped !== undefined) this.#tellDropped();
    // Without a timer the time of what waits has come meanwhile.
    const isDue = this.#waitingBytes >= BATCH.bytes || this.#timer === undefined;
    if (this.#taken.length > 0 || isDue) this.#write();
  };

  #pause(): void {
    this.#state = 'pausing';
    setTimeout(() => {
      this.#state = 'idle';
      this.#write();
    }, this.#retryMs).unref();
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS.longest);
    this.#callBack();
  }

  #take(): Buffer {
    const taken = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#waitingBytes = 0;
    return taken;
  }

  #tellDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = undefined;
    if (dropped !== undefined) this.#onRoom?.(dropped);
  }

  #callBack(): void {
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) callback();
  }
}

/** In a line of JSON a quotation mark within a text is escaped: RFC 8259, section 7. */
function isAudit(line: string): boolean {
  return line.includes('"audit":"');
}

/**
 * @param deadline as of `performance.now()`
 * @returns what the descriptor did not take
 */
function writeNow(fd: number, bytes: Buffer, deadline: number): Buffer {
  let left = bytes;
  while (left.length > 0 && performance.now() < deadline) {
    try {
      left = left.subarray(writeSync(fd, left));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return left;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS.first);
    }
  }
  return left;
}
