import { Duplex } from 'node:stream';
import type { Simulation } from './simulation.ts';

/**
 * A connection as the operating system gives it to Node: bytes arrive in pieces, and what is written is taken at once
 * or, while the client does not read, later.
 */
export class SocketModel extends Duplex {
  /** What the client has been sent. */
  sent = '';
  /** When the server made the head of the last answer, on the virtual clock. */
  headAtMs = -Infinity;
  /** The server has decided that an answer is the last one. The client may not have read that yet. */
  isEnding = false;
  readonly #simulation: Simulation;
  readonly #name: string;
  readonly #isSlow: boolean;

  /** @param isSlow whether the client reads slowly */
  constructor(simulation: Simulation, name: string, isSlow: boolean) {
    super({ allowHalfOpen: true });
    this.#simulation = simulation;
    this.#name = name;
    this.#isSlow = isSlow;
  }

  /** As in `net.Socket`. Node's HTTP server calls it after the last answer. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  override _read(): void {
    // Bytes arrive by themselves.
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const { random } = this.#simulation;
    const take = () => {
      this.sent += bytes.toString('latin1');
      this.#simulation.note(`${this.#name} is sent ${bytes.length} bytes`);
      this.emit('sent');
      done();
    };
    if (!this.#isSlow || random.chance(0.3)) take();
    else this.#simulation.later(`${this.#name} reads`, random.between(0, random.pick([5, 500])), take);
  }

  override _final(done: () => void): void {
    this.#simulation.note(`${this.#name} is sent the end`);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#simulation.note(`${this.#name} is closed`);
    done(error);
  }
}
