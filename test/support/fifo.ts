import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { constants, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { testDirectory } from './test-directory.ts';

/** A named pipe that exists until the running test ends. This process reads from the pipe only during `read`. */
export class Fifo {
  readonly path: string;
  readonly #fd: number;
  #reader: Socket | undefined;
  #text = '';

  private constructor(path: string) {
    this.path = path;
    // The pipe is opened for reading and writing, because a reader without a writer sees the end of the file: fifo(7).
    this.#fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  }

  static async make(): Promise<Fifo> {
    const path = join(await testDirectory(), 'fifo');
    await makeFifo(path);
    const fifo = new Fifo(path);
    onTestFinished(() => fifo.close());
    return fifo;
  }

  /** Opens the pipe for a writer. Returns a descriptor whose writes do not block. */
  open(): number {
    return openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
  }

  /** Reads one chunk after the other until `pattern` matches {@link text}. */
  async read(pattern: RegExp): Promise<RegExpExecArray> {
    const reader = (this.#reader ??= this.#openReader());
    for (;;) {
      const match = pattern.exec(this.#text);
      if (match !== null) return match;
      const data = once(reader, 'data');
      reader.resume();
      await data;
      reader.pause();
    }
  }

  /** The text that this process has read since the pipe was created. */
  get text(): string {
    return this.#text;
  }

  /** Writes until the pipe is full: first blocks of 4096 bytes, then single bytes in the space that is left. */
  fill(): void {
    for (const size of [4096, 1]) {
      try {
        for (;;) writeSync(this.#fd, '.'.repeat(size));
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      }
    }
  }

  /** Closes the pipe in this process. */
  async close(): Promise<void> {
    this.#reader ??= this.#openReader();
    if (this.#reader.destroyed) return;
    const closed = once(this.#reader, 'close');
    this.#reader.destroy();
    await closed;
  }

  /** Opens the reader, which starts to read immediately. */
  #openReader(): Socket {
    const reader = new Socket({ fd: this.#fd, readable: true, writable: false });
    return reader.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
    });
  }
}

export async function makeFifo(path: string): Promise<void> {
  await promisify(execFile)('mkfifo', [path]);
}
