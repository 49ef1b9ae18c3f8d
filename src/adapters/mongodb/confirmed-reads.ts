import type { Db, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';
import { Batcher } from './round-trips/batcher.ts';
import { type Deadline, withDeadline } from './connection/deadline.ts';
import { PrimaryWatch, primaryOf } from './connection/primary-watch.ts';
import { isServerError } from './connection/server-error-codes.ts';
import { versionsOf } from './schema/collections.ts';

/** The limit of a confirmation at the server: see docs/explanation/confirmed-reads.md#limits. */
const CONFIRMATION_TIMEOUT_MS = 2_000;

/** The limit of a confirmation in this client. */
const CONFIRMATION_LIMIT_MS = 4_000;

/** A term is the time from one election to the next. */
export type PrimaryTerm = {
  /** Names the primary and its election. `undefined` until the driver reports a change. */
  name: string | undefined;
  isStandalone: boolean;
  /** Whether majority reads show everything that was acknowledged before the term. */
  isConfirmed: boolean;
  /** Resolves after a confirmation that began after the call. Calls during a confirmation share the next. */
  readonly confirm: () => Promise<void>;
};

/** A miss lacks the requested pet. Only a miss can be out of date, because pets never change. */
type IsMiss<T> = WhilePetsNeverChange<(result: T) => boolean>;

const ONE_AT_A_TIME = { maxWaitMs: Infinity, maxCalls: Infinity } as const;

const LINEARIZABLE_READ = {
  readPreference: 'primary',
  readConcern: { level: 'linearizable' },
  maxTimeMS: CONFIRMATION_TIMEOUT_MS,
} as const;

/**
 * Makes reads see every write that was acknowledged before the read began: see docs/explanation/confirmed-reads.md. A
 * confirmation is a linearizable read, which only a primary with a majority answers.
 */
export class ConfirmedReads {
  readonly watch: PrimaryWatch;
  readonly #versions: ReturnType<typeof versionsOf>;
  #term: PrimaryTerm;

  constructor(db: Db, log?: StorageLog) {
    this.#versions = versionsOf(db);
    this.watch = new PrimaryWatch(db.client, log);
    this.#term = this.#newTerm(undefined);
    db.client.on('topologyDescriptionChanged', (event) => this.#onTopologyChange(event));
  }

  get term(): PrimaryTerm | undefined {
    return this.watch.hasPrimary ? this.#term : undefined;
  }

  get isStandalone(): boolean {
    return this.#term.isStandalone;
  }

  /**
   * @param timeoutMs the limit for the read with its retries and confirmations
   * @param isMiss whether the read is repeated after a confirmation. Default: never
   * @throws {StorageUnavailable} after `timeoutMs`, or immediately if no retry can succeed
   */
  read<T>(timeoutMs: number, read: () => Promise<T>, isMiss?: IsMiss<T>): Promise<T> {
    return this.watch.withDeadline(timeoutMs, (deadline) =>
      deadline.retry(() => this.#attempt(deadline, read, isMiss)),
    );
  }

  async #attempt<T>(deadline: Deadline, read: () => Promise<T>, isMiss?: (result: T) => boolean): Promise<T> {
    while (!this.watch.hasPrimary) {
      if (deadline.hasPassed) throw new StorageUnavailable('no primary is known');
      await this.watch.waitForPrimary();
    }
    const term = this.#term;
    const confirmsFirst = this.watch.isInMinority || !term.isConfirmed;
    if (confirmsFirst) await term.confirm();
    let result = await read();
    if (!confirmsFirst && !term.isStandalone && isMiss?.(result) === true) {
      await term.confirm();
      result = await read();
    }
    if (term !== this.#term) throw new StorageUnavailable('the primary changed during the read');
    return result;
  }

  #onTopologyChange({ previousDescription, newDescription }: TopologyDescriptionChangedEvent): void {
    // The first event also names the primary that the driver found before this class listened.
    this.#term.name ??= termNameOf(previousDescription);
    const name = termNameOf(newDescription);
    if (name !== undefined && name !== this.#term.name) this.#term = this.#newTerm(name);
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
        this.#versions.findOne({ _id: 'petstore' }, LINEARIZABLE_READ),
      );
    } catch (error) {
      if (!isServerError(error, 'NotAReplicaSet')) throw error;
      term.isStandalone = true;
    }
    term.isConfirmed = true;
    this.watch.onMajorityProof();
  }
}

/** @returns a new name after each election, because the election id contains the term */
function termNameOf(description: TopologyDescription): string | undefined {
  const primary = primaryOf(description);
  return primary && `${primary.address} ${primary.electionId?.toHexString()}`;
}
