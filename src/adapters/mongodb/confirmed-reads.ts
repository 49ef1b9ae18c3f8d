import type { Db, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';
import type { WhilePetsNeverChange } from '../../application/ports/pets-never-change.ts';
import { StorageUnavailable } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';
import { Batcher } from './round-trips/batcher.ts';
import { type Deadline, withDeadline } from './connection/deadline.ts';
import { PrimaryWatch, primaryOf } from './connection/primary-watch.ts';
import { isServerError } from './connection/server-error-codes.ts';
import { versionsOf } from './schema/collections.ts';

/** The limits of a confirmation: at the server, and in this client. See docs/explanation/confirmed-reads.md#limits. */
const CONFIRMATION_TIMEOUT_MS = 2_000;

const CONFIRMATION_LIMIT_MS = 4_000;

/** A term is the time from one election to the next. */
export type PrimaryTerm = {
  /** `undefined` until the driver reports a change. */
  name: string | undefined;
  isStandalone: boolean;
  /** Whether majority reads show everything that was acknowledged before the term. */
  isConfirmed: boolean;
  /** Resolves after a confirmation that began after the call. Calls during a confirmation share the next one. */
  readonly confirm: () => Promise<void>;
};

/** Pets never change, so a deposed primary can be wrong only about a missing pet. */
type IsMiss<T> = WhilePetsNeverChange<(result: T) => boolean>;

const ONE_AT_A_TIME = { maxWaitMs: Infinity, maxCalls: Infinity } as const;

const LINEARIZABLE = {
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
  #primary: PrimaryTerm;

  constructor(db: Db, log?: StorageLog) {
    this.#versions = versionsOf(db);
    this.watch = new PrimaryWatch(db.client, log);
    this.#primary = this.#newTerm(undefined);
    db.client.on('topologyDescriptionChanged', (event) => this.#onTopologyChange(event));
  }

  /** The term in which the next command is sent. */
  get term(): PrimaryTerm | undefined {
    return this.watch.hasPrimary ? this.#primary : undefined;
  }

  get isStandalone(): boolean {
    return this.#primary.isStandalone;
  }

  /**
   * @param timeoutMs the limit for the read with its retries and confirmations
   * @param isMiss whether a result must be read again after a confirmation. Default: never.
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
    // The first event also names the primary that the driver found before this class listened.
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
    this.watch.onMajorityProof();
  }
}

/** @returns a name per term, because an election id contains the term */
function nameOfPrimary(description: TopologyDescription): string | undefined {
  const primary = primaryOf(description);
  return primary && `${primary.address} ${primary.electionId?.toHexString()}`;
}
