import type { LogDisk } from '../../src/adapters/sqlite/log-disk.ts';
import type { Simulation } from './simulation.ts';

/**
 * The disk below the log of a database: slow and hanging. A flush that fails ends the process: that is for
 * `npm run power-loss`.
 *
 * Its flaw `writes-nothing` is a flush that ends and has written nothing.
 */
export class FaultyDisk implements Pick<LogDisk, 'flush' | 'checkpointIfDue'> {
  /** A power failure now would leave the pets up to this id. */
  durableId = 0n;
  isCheckpointing = false;
  readonly #simulation: Simulation;
  readonly #lastId: () => bigint;
  readonly #writesNothing: boolean;
  #flushes = 0;

  /** @param lastId the greatest id that is committed */
  constructor(simulation: Simulation, lastId: () => bigint, flaw: string | undefined) {
    this.#simulation = simulation;
    this.#lastId = lastId;
    this.#writesNothing = flaw === 'writes-nothing';
  }

  async flush(): Promise<void> {
    const upTo = this.#lastId();
    this.#simulation.check(this.#flushes < 2, () => 'three flushes are under way');
    this.#flushes++;
    if (this.#flushes === 2) this.#simulation.reach('two-flushes');
    await this.#wait('a flush ends');
    this.#flushes--;
    if (!this.#writesNothing && upTo > this.durableId) this.durableId = upTo;
  }

  get isFlushing(): boolean {
    return this.#flushes > 0;
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
