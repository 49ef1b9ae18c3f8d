import type { LogDisk } from '../../src/adapters/sqlite/log-disk.ts';
import type { Simulation } from './simulation.ts';

/**
 * The disk below the log of a database: slow, hanging, failing. As on Linux, what a flush has failed to write is lost,
 * and a later flush succeeds without it. Only a checkpoint saves what the log still holds in memory.
 *
 * Its flaw `saves-nothing` is a checkpoint after a failed flush that succeeds and has written nothing.
 */
export class FaultyDisk implements Pick<LogDisk, 'flush' | 'checkpointIfDue' | 'recover'> {
  /** A power failure now would leave the pets up to this id. */
  durableId = 0n;
  isCheckpointing = false;
  readonly #simulation: Simulation;
  readonly #lastId: () => bigint;
  readonly #savesNothing: boolean;
  #flushes = 0;
  #hasLostPages = false;

  /** @param lastId the greatest id that is committed */
  constructor(simulation: Simulation, lastId: () => bigint, flaw: string | undefined) {
    this.#simulation = simulation;
    this.#lastId = lastId;
    this.#savesNothing = flaw === 'saves-nothing';
  }

  async flush(): Promise<void> {
    const { random } = this.#simulation;
    const upTo = this.#lastId();
    const knewOfLoss = this.#hasLostPages;
    this.#simulation.check(this.#flushes < 2, () => 'three flushes are under way');
    this.#flushes++;
    if (this.#flushes === 2) this.#simulation.reach('two-flushes');
    await this.#wait('a flush ends');
    this.#flushes--;
    const isTold = this.#hasLostPages && !knewOfLoss && random.chance(0.5);
    if (isTold || random.chance(this.#simulation.weather.faults)) {
      this.#hasLostPages = true;
      throw this.#failure();
    }
    if (!this.#hasLostPages && upTo > this.durableId) this.durableId = upTo;
  }

  get isFlushing(): boolean {
    return this.#flushes > 0;
  }

  async checkpointIfDue(): Promise<void> {
    if (!this.#simulation.random.chance(0.1)) return;
    this.isCheckpointing = true;
    await this.#wait('a checkpoint ends');
    this.isCheckpointing = false;
  }

  async recover(): Promise<void> {
    this.#simulation.check(this.#flushes === 0, () => 'a flush is under way during the recovery');
    await this.#wait('a recovery ends');
    if (this.#simulation.random.chance(this.#simulation.weather.faults)) throw this.#failure();
    this.#simulation.reach('flush-failed');
    if (!this.#savesNothing) this.durableId = this.#lastId();
    this.#hasLostPages = false;
  }

  async #wait(name: string): Promise<void> {
    await this.#simulation.wait(name, this.#simulation.latencyMs());
  }

  #failure(): Error {
    this.#simulation.note('the disk fails');
    return Object.assign(new Error('EIO: i/o error'), { syscall: 'fdatasync' });
  }
}
