import type { Db, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';
import { Batcher } from './round-trips/batcher.ts';
import { type Deadline, withDeadline } from './connection/deadline.ts';
import { PrimaryWatch, primaryOf } from './connection/primary-watch.ts';
import { isServerError } from './connection/server-error-codes.ts';
import { versionsOf } from './schema/collections.ts';

/**
 * How long the server may take to confirm that it is the primary. Without a limit, a primary that has lost its majority
 * would try for ever: https://www.mongodb.com/docs/manual/reference/read-concern-linearizable/
 */
const CONFIRMATION_TIMEOUT_MS = 2_000;

/**
 * After this time without a reply, a confirmation is abandoned, and a read can begin another. The driver has been
 * seen to wait forever for a reply whose connection was reset. Longer than the server takes, and less than half of
 * what a read may take.
 */
const CONFIRMATION_LIMIT_MS = 4_000;

/** A member of the replica set in one of its terms as the primary. */
export type PrimaryTerm = {
  /** `undefined` until the driver reports a change. */
  name: string | undefined;
  /** Whether the server is not a member of a replica set: it is the only possible primary. */
  isStandalone: boolean;
  /** Whether majority reads show everything that was acknowledged before the term. */
  isConfirmed: boolean;
  /** Resolves after a confirmation that began after the call. Calls during a confirmation share the next one. */
  readonly confirm: () => Promise<void>;
};

/** A deposed primary may say that a pet is missing. What it does return is right. */
type IsMiss<T> = WhilePetsNeverChange<(result: T) => boolean>;

const ONE_AT_A_TIME = { maxWaitMs: Infinity, maxCalls: Infinity } as const;

const LINEARIZABLE = {
  readPreference: 'primary',
  readConcern: { level: 'linearizable' },
  maxTimeMS: CONFIRMATION_TIMEOUT_MS,
} as const;

/**
 * Majority reads that see every write acknowledged before they began, by this service or by another. The primary
 * proves itself by one linearizable read in each of its terms, before the first other read:
 * docs/explanation/confirmed-reads.md has the reason and the one gap. A standalone server needs no confirmation.
 */
export class ConfirmedReads {
  readonly watch: PrimaryWatch;
  readonly #versions: ReturnType<typeof versionsOf>;
  #primary: PrimaryTerm;

  /** @param log learns when the primary is lost and found */
  constructor(db: Db, log?: StorageLog) {
    this.#versions = versionsOf(db);
    this.watch = new PrimaryWatch(db.client, log);
    this.#primary = this.#newTerm(undefined);
    db.client.on('topologyDescriptionChanged', (event) => this.#onTopologyChange(event));
  }

  /** The term of the primary to which the driver sends the next command. `undefined` while it knows no primary. */
  get term(): PrimaryTerm | undefined {
    return this.watch.hasPrimary ? this.#primary : undefined;
  }

  get isStandalone(): boolean {
    return this.#primary.isStandalone;
  }

  /**
   * Runs `read` and retries it until the deadline.
   *
   * @param timeoutMs the limit of the call, retries and confirmations included
   * @param isMiss whether a deposed primary could have given this result by mistake. A confirmation and a second read
   *   then replace it. Default: no result is a miss.
   * @throws {StorageUnavailable} after `timeoutMs`, or at once if no retry can succeed
   */
  read<T>(timeoutMs: number, read: () => Promise<T>, isMiss?: IsMiss<T>): Promise<T> {
    return this.watch.withDeadline(timeoutMs, (deadline) =>
      deadline.retry(() => this.#attempt(deadline, read, isMiss)),
    );
  }

  async #attempt<T>(deadline: Deadline, read: () => Promise<T>, isMiss?: (result: T) => boolean): Promise<T> {
    while (!this.watch.hasPrimary) {
      if (deadline.hasPassed) throw new StorageUnavailable('no primary is known');
      await this.watch.found();
    }
    const primary = this.#primary;
    const confirmsFirst = this.watch.isInMinority || !primary.isConfirmed;
    if (confirmsFirst) await primary.confirm();
    let result = await read();
    if (!confirmsFirst && !primary.isStandalone && isMiss?.(result) === true) {
      await primary.confirm();
      result = await read();
    }
    if (primary !== this.#primary) throw new StorageUnavailable('the primary changed during the read');
    return result;
  }

  #onTopologyChange({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void {
    // Only the first event tells which primary the driver had found before.
    this.#primary.name ??= nameOfPrimary(previousDescription);
    const name = nameOfPrimary(newDescription);
    if (name !== undefined && name !== this.#primary.name) this.#primary = this.#newTerm(name);
  }

  #newTerm(name: string | undefined): PrimaryTerm {
    const confirmations = new Batcher<void, void>(() => this.#confirm(term), ONE_AT_A_TIME);
    const confirm = () => confirmations.add();
    const term: PrimaryTerm = { name, isStandalone: false, isConfirmed: false, confirm };
    return term;
  }

  async #confirm(term: PrimaryTerm): Promise<void> {
    try {
      await withDeadline(CONFIRMATION_LIMIT_MS, () =>
        this.#versions.findOne({ _id: 'petstore' }, LINEARIZABLE),
      );
    } catch (error) {
      if (!isServerError(error, 'NotAReplicaSet')) throw error;
      term.isStandalone = true;
    }
    term.isConfirmed = true;
    this.watch.onProof();
  }
}

/** @returns a name that differs between primaries and between their terms: the election id contains the term */
function nameOfPrimary(description: TopologyDescription): string | undefined {
  const primary = primaryOf(description);
  return primary && `${primary.address} ${primary.electionId?.toHexString()}`;
}
