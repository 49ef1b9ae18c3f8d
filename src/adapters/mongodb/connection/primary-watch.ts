import type { MongoClient, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';
import type { StorageLog } from '../../../application/ports/storage-health.ts';
import { Deadline } from './deadline.ts';
import { memberStates } from './member-states.ts';

/**
 * How long a call waits for an election. With MongoDB's default `electionTimeoutMillis` of 10 s, a new primary takes
 * writes after 11 to 12 s.
 */
const ELECTION_MS = 20_000;

/** How long a call waits when an election should be over. A request needs less than a second then. */
const REFUSAL_MS = 500;

/** While there is no primary, the log learns of a new reason after this time at the earliest. */
const RETOLD_AFTER_MS = 10_000;

/** A call that waits for a primary checks its deadline this often. */
const WAIT_MS = 500;

/**
 * Knows whether the driver sees a primary. Logs when one is lost or found, and why there still is none. Calls wait here
 * rather than in the driver, which would keep them after their deadline, and send them all before the first new one.
 */
export class PrimaryWatch {
  /** Whether the driver sees a primary, or a standalone server. */
  hasPrimary = true;
  /** Whether it sees a primary, but no majority: perhaps a deposed one. */
  isInMinority = false;
  /** Since when there has been no primary with a majority. On the clock of `performance.now()`. */
  lostMs: number | undefined;
  /** The state of each member, or why it could not be reached the last time. */
  members = '';
  readonly #log: StorageLog | undefined;
  /** What was logged last of the members, and when. */
  #told = { members: '', atMs: 0 };
  #waiting: PromiseWithResolvers<void> | undefined;

  constructor(client: MongoClient, log?: StorageLog) {
    this.#log = log;
    client.on('topologyDescriptionChanged', (event) => this.#onChange(event));
    // A heartbeat that fails for the same reason changes nothing, so that no other event follows the last reason.
    client.on('serverHeartbeatFailed', () => this.#tellAbsence(false));
    // The driver then rejects every call at once.
    client.on('topologyClosed', () => void (this.hasPrimary = true));
  }

  /**
   * Limits a call. While there has been no primary for longer than an election takes, it ends within a second.
   *
   * @throws {StorageUnavailable} after `timeoutMs` at the latest
   */
  withDeadline<T>(timeoutMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#limitMs(timeoutMs), this);
    return deadline.limit(work(deadline));
  }

  /** Resolves when there is a primary, and otherwise after half a second. */
  found(): Promise<void> {
    if (this.#waiting === undefined) setTimeout(() => this.#wake(), WAIT_MS);
    return (this.#waiting ??= Promise.withResolvers<void>()).promise;
  }

  /** The primary has shown that it has a majority. */
  onProof(): void {
    if (this.isInMinority) this.lostMs = performance.now();
  }

  /** What may take longer than an election, such as an export, waits as long as it may. */
  #limitMs(timeoutMs: number): number {
    if (this.lostMs === undefined || timeoutMs > ELECTION_MS) return timeoutMs;
    return Math.min(timeoutMs, Math.max(this.lostMs + ELECTION_MS - performance.now(), REFUSAL_MS));
  }

  #onChange({ previousDescription: before, newDescription: now }: TopologyDescriptionChangedEvent): void {
    const [known, primary] = [primaryOf(before), primaryOf(now)];
    const members = [...now.servers.values()];
    const visible = members.filter(({ type }) => type !== 'Unknown' && type !== 'PossiblePrimary');
    this.hasPrimary = primary !== undefined;
    this.isInMinority = primary?.type === 'RSPrimary' && 2 * visible.length <= members.length;
    // The driver has a clock of its own.
    const heardMs = (view: TopologyDescription) =>
      view.servers.get(known?.address ?? '')?.lastUpdateTime ?? 0;
    if (this.hasPrimary && !this.isInMinority) this.lostMs = undefined;
    else this.lostMs ??= performance.now() - Math.max(heardMs(now) - heardMs(before), 0);
    if (this.hasPrimary) this.#wake();
    this.members = memberStates(now);
    if (primary === undefined) this.#tellAbsence(known !== undefined);
    else if (primary.address !== known?.address)
      this.#log?.warn(`MongoDB has a primary again: ${primary.address}`);
  }

  /** Logs a loss, and later a reason that is new. */
  #tellAbsence(isLoss: boolean): void {
    const { members, hasPrimary } = this;
    const atMs = performance.now();
    const isNew = members !== this.#told.members && atMs >= this.#told.atMs + RETOLD_AFTER_MS;
    if (hasPrimary || !(isLoss || isNew)) return;
    this.#told = { members, atMs };
    this.#log?.warn(`MongoDB has no primary; members: ${members}`);
  }

  #wake(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}

/** A standalone server counts as one. */
export function primaryOf({ servers }: TopologyDescription) {
  return [...servers.values()].find(({ type }) => type === 'RSPrimary' || type === 'Standalone');
}
