import type { LogDisk } from '../../src/adapters/sqlite/log-disk.ts';
import type { Simulation } from './simulation.ts';

/**
 * A model of the disk with the write-ahead log of a database. A flush may take long. A flush never fails here, because
 * a failed flush ends the process: `npm run power-loss` tries this.
 *
 * Flaw: `writes-nothing` (a flush ends without writing).
 */
export class FaultyDisk implements Pick<LogDisk, 'flush' | 'checkpointIfDue'> {
  /** After a power failure now, the database would have the pets up to this id. */
  durableId = 0n;
  isCheckpointing = false;
  readonly #simulation: Simulation;
  readonly #greatestId: () => bigint;
  readonly #writesNothing: boolean;
  #runningFlushes = 0;

  /** @param greatestId returns the greatest committed id */
  constructor(simulation: Simulation, greatestId: () => bigint, flaw: string | undefined) {
    this.#simulation = simulation;
    this.#greatestId = greatestId;
    this.#writesNothing = flaw === 'writes-nothing';
  }

  async flush(): Promise<void> {
    const flushedId = this.#greatestId();
    this.#simulation.check(this.#runningFlushes < 2, () => 'three flushes run at the same time');
    this.#runningFlushes++;
    if (this.#runningFlushes === 2) this.#simulation.noteState('two-flushes');
    await this.#wait('a flush ends');
    this.#runningFlushes--;
    if (!this.#writesNothing && flushedId > this.durableId) this.durableId = flushedId;
  }

  get isFlushing(): boolean {
    return this.#runningFlushes > 0;
  }

  async checkpointIfDue(): Promise<void> {
    if (!this.#simulation.random.chance(0.1)) return;
    this.isCheckpointing = true;
    await this.flush();
    await this.#wait('a checkpoint ends');
    this.isCheckpointing = false;
  }

  async #wait(name: string): Promise<void> {
    await this.#simulation.wait(name, this.#simulation.latencyMs());
  }
}
