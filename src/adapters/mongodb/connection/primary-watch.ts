import type { MongoClient, TopologyDescription, TopologyDescriptionChangedEvent } from 'mongodb';
import type { StorageLog } from '../../../application/ports/storage-health.ts';
import { Deadline } from './deadline.ts';
import { memberStates } from './member-states.ts';

/** The limit of a wait for an election, which takes 11 to 12 s with the defaults of MongoDB. */
const ELECTION_MS = 20_000;

/** The shortest limit of a call while no primary has a majority. */
const REFUSAL_MS = 500;

/** The shortest time between two log lines with new reasons. */
const REASON_INTERVAL_MS = 10_000;

const MAX_WAIT_MS = 500;

/** Logs when the primary is lost or found. Calls wait here for a primary: see docs/explanation/confirmed-reads.md. */
export class PrimaryWatch {
  hasPrimary = true;
  /** Whether the driver sees the primary, and at most half of the members. */
  isInMinority = false;
  /** The time since which no primary has had a majority, on the clock of `performance.now()`. */
  lostMs: number | undefined;
  members = '';
  readonly #log: StorageLog | undefined;
  #lastLogged = { members: '', atMs: 0 };
  #waiter: PromiseWithResolvers<void> | undefined;

  constructor(client: MongoClient, log?: StorageLog) {
    this.#log = log;
    client.on('topologyDescriptionChanged', (event) => this.#onChange(event));
    // Logs a reason that `REASON_INTERVAL_MS` delayed: the driver reports no change for a repeated reason.
    client.on('serverHeartbeatFailed', () => this.#logAbsence(false));
    // Ends every wait: after a close, the driver rejects calls immediately.
    client.on('topologyClosed', () => void (this.hasPrimary = true));
  }

  /**
   * Shortens the limit to half a second when there has been no primary for longer than an election takes.
   *
   * @throws {StorageUnavailable} after `timeoutMs` at the latest
   */
  withDeadline<T>(timeoutMs: number, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#limitMs(timeoutMs), this);
    return deadline.limit(work(deadline));
  }

  /** Resolves when there is a primary, or after `MAX_WAIT_MS`. */
  waitForPrimary(): Promise<void> {
    if (this.#waiter === undefined) setTimeout(() => this.#wake(), MAX_WAIT_MS);
    return (this.#waiter ??= Promise.withResolvers<void>()).promise;
  }

  /** Called after a confirmation: the primary had its majority until now. */
  onMajorityProof(): void {
    if (this.isInMinority) this.lostMs = performance.now();
  }

  /** Calls with a limit above `ELECTION_MS`, such as those of an export, keep their limit. */
  #limitMs(timeoutMs: number): number {
    if (this.lostMs === undefined || timeoutMs > ELECTION_MS) return timeoutMs;
    return Math.min(timeoutMs, Math.max(this.lostMs + ELECTION_MS - performance.now(), REFUSAL_MS));
  }

  #onChange({ previousDescription: before, newDescription: now }: TopologyDescriptionChangedEvent): void {
    const [previousPrimary, primary] = [primaryOf(before), primaryOf(now)];
    const members = [...now.servers.values()];
    const visibleMembers = members.filter(({ type }) => type !== 'Unknown' && type !== 'PossiblePrimary');
    this.hasPrimary = primary !== undefined;
    this.isInMinority = primary?.type === 'RSPrimary' && 2 * visibleMembers.length <= members.length;
    // Only differences are used, because the driver has another clock than `performance.now()`.
    const lastReplyMs = (view: TopologyDescription) =>
      view.servers.get(previousPrimary?.address ?? '')?.lastUpdateTime ?? 0;
    if (this.hasPrimary && !this.isInMinority) this.lostMs = undefined;
    else this.lostMs ??= performance.now() - Math.max(lastReplyMs(now) - lastReplyMs(before), 0);
    if (this.hasPrimary) this.#wake();
    this.members = memberStates(now);
    if (primary === undefined) this.#logAbsence(previousPrimary !== undefined);
    else if (primary.address !== previousPrimary?.address)
      this.#log?.warn(`MongoDB has a primary again: ${primary.address}`);
  }

  #logAbsence(isLoss: boolean): void {
    const { members, hasPrimary } = this;
    const atMs = performance.now();
    const isNew = members !== this.#lastLogged.members && atMs >= this.#lastLogged.atMs + REASON_INTERVAL_MS;
    if (hasPrimary || !(isLoss || isNew)) return;
    this.#lastLogged = { members, atMs };
    this.#log?.warn(`MongoDB has no primary; members: ${members}`);
  }

  #wake(): void {
    this.#waiter?.resolve();
    this.#waiter = undefined;
  }
}

export function primaryOf({ servers }: TopologyDescription) {
  return [...servers.values()].find(({ type }) => type === 'RSPrimary' || type === 'Standalone');
}
