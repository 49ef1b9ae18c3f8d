import type { Document, ObjectId } from 'mongodb';
import { numbers } from '../../test/support/numbers.ts';
import type { Simulation } from './simulation.ts';

/**
 * A write in the log: the collection, the `_id`, and the document after the write. It is `undefined` for a deletion.
 */
export type Entry = {
  readonly collection: string;
  readonly id: string;
  readonly document: Document | undefined;
};

/**
 * The longest time until a client notices that its primary is deposed (that another member was elected): a heartbeat
 * and its timeout.
 */
export const MAX_UNNOTICED_MS = 2_500;

/**
 * A member of the replica set in one term, which is the time after the election that it has won. It is the primary, or
 * does not know yet that it is deposed.
 *
 * The member appends each write to its log immediately. A majority read shows only the first entries of the log, up to
 * the last entry that this member knows to be on a majority of the members.
 */
export class Member {
  readonly term: number;
  readonly log: Entry[] = [];
  /** The process was killed. It sends no more replies. */
  isDead = false;
  /** The member knows that it is deposed. */
  hasSteppedDown = false;
  /**
   * The same process, after it has won a later election. It rolled nothing back, so its connections stay open, and
   * commands on them reach the later member.
   */
  reelectedMember: Member | undefined;
  /** Before this time, no other member replicates the log of this member, so no write gets on a majority. */
  isAloneUntilMs = -Infinity;
  readonly #latestDocuments = new Map<string, Map<string, Document>>();
  /** The number of log entries that majority reads show. It never decreases. */
  shownEntryCount = 0;
  readonly #shownDocuments = new Map<string, Map<string, Document>>();
  /** By collection and id: the position in the log of the last entry of the document. The first position is 1. */
  readonly #positions = new Map<string, number>();

  constructor(term: number, log: readonly Entry[]) {
    this.term = term;
    for (const entry of log) this.append(entry);
  }

  get electionId(): Pick<ObjectId, 'toHexString'> {
    return { toHexString: () => `term ${this.term}` };
  }

  append(entry: Entry): void {
    this.log.push(entry);
    this.#positions.set(`${entry.collection} ${entry.id}`, this.log.length);
    apply(this.#latestDocuments, entry);
  }

  /** Lets majority reads show the first `entryCount` entries of the log. */
  show(entryCount: number): void {
    for (; this.shownEntryCount < entryCount; this.shownEntryCount++)
      apply(this.#shownDocuments, this.log[this.shownEntryCount]!);
  }

  /** The position in the log of the last write of this document, from 1. `Infinity` if the log has no such write. */
  positionOf(collection: string, id: string): number {
    return this.#positions.get(`${collection} ${id}`) ?? Infinity;
  }

  /** The documents that writes see, and reads with the read concern `local`. */
  latestDocuments(collection: string): ReadonlyMap<string, Document> {
    return this.#latestDocuments.get(collection) ?? new Map();
  }

  /** The documents that reads with the read concern `majority` see. */
  shownDocuments(collection: string): ReadonlyMap<string, Document> {
    return this.#shownDocuments.get(collection) ?? new Map();
  }
}

function apply(state: Map<string, Map<string, Document>>, { collection, id, document }: Entry): void {
  const documents = state.get(collection) ?? new Map<string, Document>();
  state.set(collection, documents);
  if (document === undefined) documents.delete(id);
  else documents.set(id, document);
}

/**
 * A replica set: one primary at a time, and elections. An election keeps every entry that is on a majority, and may
 * keep more entries. A former primary may win, and then keeps its whole log. Until an entry of its own term is
 * committed, the new primary shows only the entries that it already knew to be on a majority. The old primary is dead,
 * or serves stale reads for a while.
 *
 * Flaws: `loses-commits` (an election loses entries that were on a majority), `acknowledges-early` (a write is
 * acknowledged before it is on a majority), `confirms-nothing` (a linearizable read does not wait for a majority).
 */
export class ReplicaSet {
  readonly simulation: Simulation;
  readonly flaw: string | undefined;
  /** The clients of this set. Each of them notices an election after a while. */
  readonly clients: { onElection(member: Member): void }[] = [];
  /** By the token of an insert (the field `op` of the pet): the latest term in which a pet with this token arrived. */
  readonly termOfToken = new Map<string, number>();
  primary = new Member(1, []);
  readonly #formerPrimaries: Member[] = [];
  #committedCount = 0;

  constructor(simulation: Simulation, flaw: string | undefined) {
    this.simulation = simulation;
    this.flaw = flaw;
  }

  /** The entries that are on a majority. */
  committedEntries(): readonly Entry[] {
    return this.primary.log.slice(0, this.#committedCount);
  }

  /** Whether the last write of this document is on a majority. */
  isCommitted(collection: string, id: string): boolean {
    return this.primary.positionOf(collection, id) <= this.#committedCount;
  }

  /** @returns whether the first `entryCount` entries of the member's log are on a majority now */
  commit(member: Member, entryCount: number): boolean {
    if (member !== this.primary || this.simulation.nowMs < member.isAloneUntilMs) return false;
    this.#committedCount = Math.max(this.#committedCount, entryCount);
    member.show(this.#committedCount);
    return true;
  }

  /** Schedules up to four elections in the first eight seconds. More may follow each of them. */
  startElections(): void {
    const { random } = this.simulation;
    for (const _ of numbers(random.pick([0, 0, 1, 2, 4]))) {
      const afterMs = random.between(0, random.pick([15, 60, 300, 8_000]));
      this.simulation.later('election', afterMs, () => this.#elect());
      if (random.chance(0.5)) continue;
      this.simulation.later('the primary is alone', random.between(0, afterMs), () => {
        this.primary.isAloneUntilMs = this.simulation.nowMs + afterMs;
      });
    }
  }

  /** Schedules one election, which no other election follows. */
  electOnce(): void {
    this.simulation.later('election', 0, () => this.#elect(false));
  }

  /** @param mayRepeat whether this election may schedule another one, before its own term begins */
  #elect(mayRepeat = true): void {
    const { random, nowMs } = this.simulation;
    const oldPrimary = this.primary;
    const log = this.#winningLog();
    const member = new Member(oldPrimary.term + 1, log);
    // A new primary writes an entry that changes no pet. Its majority reads show everything once this entry is
    // committed.
    member.append({ collection: 'local', id: `term ${member.term}`, document: {} });
    const { length } = member.log;
    this.primary = member;
    this.#committedCount = Math.min(this.#committedCount, log.length);
    member.show(random.chance(0.5) ? this.#committedCount : random.integer(0, this.#committedCount));
    const beginsAfterMs = random.between(0, 3_000);
    if (random.chance(0.5)) {
      member.isAloneUntilMs = nowMs + beginsAfterMs;
      if (mayRepeat && random.chance(0.5))
        this.simulation.later('election', random.between(0, beginsAfterMs), () => this.#elect());
    }
    this.simulation.later(`term ${member.term} begins`, beginsAfterMs, () => this.commit(member, length));
    this.#retire(oldPrimary);
    this.#formerPrimaries.push(oldPrimary);
    const winner = this.#formerPrimaries.find((former) => !former.isDead && isPrefix(former.log, log));
    if (winner !== undefined && random.chance(0.5)) this.#reelect(winner, member);
    for (const client of this.clients) client.onElection(member);
  }

  /** The log of the member that wins the election: a secondary or a former primary. It has all committed entries. */
  #winningLog(): readonly Entry[] {
    const { random } = this.simulation;
    const { log } = this.primary;
    if (this.flaw === 'loses-commits') {
      return log.slice(0, random.integer(Math.floor(this.#committedCount / 2), this.#committedCount));
    }
    const committedEntries = this.committedEntries();
    const rivals = this.#formerPrimaries.filter((former) => isPrefix(committedEntries, former.log));
    if (rivals.length > 0 && random.chance(0.5)) return random.pick(rivals).log;
    return log.slice(0, random.integer(this.#committedCount, log.length));
  }

  /** The former primary `winner` is the same process as `member`, which has won the election. */
  #reelect(winner: Member, member: Member): void {
    this.simulation.note(`the primary of term ${winner.term} is back`);
    this.simulation.noteState('former-primary');
    this.#formerPrimaries.splice(this.#formerPrimaries.indexOf(winner), 1);
    winner.reelectedMember = member;
    member.show(winner.shownEntryCount);
  }

  #retire(oldPrimary: Member): void {
    const { random } = this.simulation;
    if (this.flaw === 'never-notices') return;
    if (random.chance(0.3)) {
      this.simulation.note(`the primary of term ${oldPrimary.term} is dead`);
      oldPrimary.isDead = true;
      return;
    }
    const learnsAfterMs = random.chance(0.5) ? 0 : random.between(0, 20_000);
    this.simulation.later(`the primary of term ${oldPrimary.term} steps down`, learnsAfterMs, () => {
      oldPrimary.hasSteppedDown = true;
    });
  }
}

/**
 * Compares only the last entry of `one`: two logs with the same entry at one position are equal up to this position.
 */
function isPrefix(one: readonly Entry[], other: readonly Entry[]): boolean {
  return one.at(-1) === other[one.length - 1];
}
