import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import { endUnclosed } from './errors.ts';
import type { LogDisk } from './log-disk.ts';

/** During the first, what has arrived meanwhile is committed and begins the second. */
const MAX_FLUSHES = 2;

/** Greater than the id of every pet. */
const NOTHING_HIDDEN = 2n ** 63n - 1n;

/** The ids of a transaction with inserts. */
export type Batch = {
  /** The last id that was assigned. The first insert reads it. */
  lastId?: bigint;
  /** The first id that this transaction has assigned. */
  firstId?: bigint;
};

/**
 * The flushes that are under way, and the pets that wait for them. A pet is hidden from its commit until a flush that
 * began after its commit has ended well.
 *
 * What is acknowledged or shown must last, so a rule that is broken here ends the process.
 */
export class Flushes {
  readonly #host: StorageHost;
  readonly #disk: Pick<LogDisk, 'flush'> | undefined;
  /** The first ids of the batches that are committed and not on the disk, in ascending order. */
  #hidden: bigint[] = [];
  /** The greatest id that was committed. */
  #committedId = 0n;
  #underWay = 0;
  /** Resolves when the next flush ends. */
  #ended = Promise.withResolvers<void>();

  /** @param disk absent if a commit itself waits for the disk */
  constructor(host: StorageHost, disk?: Pick<LogDisk, 'flush'>) {
    this.#host = host;
    this.#disk = disk;
  }

  /** Pets from this id on may not be on the disk, so nobody may see them. Ids are committed in ascending order. */
  get hiddenFrom(): WhilePetsNeverChange<bigint> {
    return this.#hidden[0] ?? NOTHING_HIDDEN;
  }

  /** Resolves when at most so many flushes are under way. By default, another one may begin then. */
  async atMost(count = MAX_FLUSHES - 1): Promise<void> {
    while (this.#underWay > count) await this.#ended.promise;
  }

  /**
   * Hides the pets of a batch until they are on the disk. Call it in the turn of their commit.
   *
   * @param acknowledge called in the turn in which they are no longer hidden
   * @throws what `acknowledge` throws
   */
  async flush({ firstId, lastId = 0n }: Batch, acknowledge: () => void): Promise<void> {
    if (this.#underWay === MAX_FLUSHES) endUnclosed('a bug: a third flush has begun', this.#host);
    if (firstId !== undefined) {
      const before = this.#committedId;
      if (firstId <= before) endUnclosed(`a bug: the id ${firstId} follows ${before}`, this.#host);
      this.#committedId = lastId;
      this.#hidden.push(firstId);
    }
    const last = this.#hidden.at(-1) ?? 0n;
    this.#underWay++;
    try {
      await this.#disk?.flush();
      this.#hidden = this.#hidden.filter((id) => id > last);
      const isHidden = this.#hidden.length > 0 && lastId >= this.hiddenFrom;
      if (isHidden) endUnclosed(`a bug: pet ${lastId} is not flushed`, this.#host);
      acknowledge();
    } finally {
      this.#underWay--;
      this.#ended.resolve();
      this.#ended = Promise.withResolvers();
    }
  }
}
