import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import type { StorageHost } from '../../application/ports/storage-health.ts';
import { endUnclosed } from './errors.ts';
import type { LogDisk } from './log-disk.ts';

/** At most two flushes run at once: the second is for the writes that arrive during the first. */
const MAX_FLUSHES = 2;

/** Greater than the id of every pet. */
const NOTHING_HIDDEN = 2n ** 63n - 1n;

export type Batch = {
  /** The last id that was assigned. The first insert reads this id from the file. */
  lastId?: bigint;
  firstId?: bigint;
};

/**
 * Counts the flushes, and hides pets until they are flushed. A broken invariant ends the process, because an
 * acknowledged or visible pet must last: see docs/explanation/group-commit.md#invariants.
 */
export class Flushes {
  readonly #host: StorageHost;
  readonly #disk: Pick<LogDisk, 'flush'> | undefined;
  /** The first id of each batch that is committed and not flushed. */
  #hiddenFirstIds: bigint[] = [];
  #lastCommittedId = 0n;
  #flushCount = 0;
  #flushEnd = Promise.withResolvers<void>();

  constructor(host: StorageHost, disk?: Pick<LogDisk, 'flush'>) {
    this.#host = host;
    this.#disk = disk;
  }

  /** The disk may lack pets from this id on, so no client may see them. Ids are committed in ascending order. */
  get hiddenFrom(): WhilePetsNeverChange<bigint> {
    return this.#hiddenFirstIds[0] ?? NOTHING_HIDDEN;
  }

  /** Resolves when at most `count` flushes are under way: by default, when another flush may begin. */
  async atMost(count = MAX_FLUSHES - 1): Promise<void> {
    while (this.#flushCount > count) await this.#flushEnd.promise;
  }

  /**
   * Hides the pets of a batch until they are on the disk. Call it right after the commit, without an `await` between.
   *
   * @param acknowledge called when the pets become visible
   * @throws the error of `acknowledge`
   */
  async flush({ firstId, lastId = 0n }: Batch, acknowledge: () => void): Promise<void> {
    if (this.#flushCount === MAX_FLUSHES) endUnclosed('a bug: a third flush has begun', this.#host);
    if (firstId !== undefined) {
      const previousId = this.#lastCommittedId;
      if (firstId <= previousId) endUnclosed(`a bug: the id ${firstId} follows ${previousId}`, this.#host);
      this.#lastCommittedId = lastId;
      this.#hiddenFirstIds.push(firstId);
    }
    const lastHidden = this.#hiddenFirstIds.at(-1) ?? 0n;
    this.#flushCount++;
    try {
      await this.#disk?.flush();
      this.#hiddenFirstIds = this.#hiddenFirstIds.filter((id) => id > lastHidden);
      const isHidden = this.#hiddenFirstIds.length > 0 && lastId >= this.hiddenFrom;
      if (isHidden) endUnclosed(`a bug: pet ${lastId} is not flushed`, this.#host);
      acknowledge();
    } finally {
      this.#flushCount--;
      this.#flushEnd.resolve();
      this.#flushEnd = Promise.withResolvers();
    }
  }
}
