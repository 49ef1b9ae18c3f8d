import type { Document, ObjectId } from 'mongodb';
import { numbers } from '../../test/support/numbers.ts';
import type { Simulation } from './simulation.ts';

/** A write, as its result: the collection and the document with its `_id`, which is `undefined` after a deletion. */
export type Entry = {
  readonly collection: string;
  readonly id: string;
  readonly document: Document | undefined;
};

/** The time in which every client learns that its primary is deposed: a heartbeat and the timeout after it. */
export const MAX_UNNOTICED_MS = 2_500;

/**
 * A member of the replica set while it is the primary, or still believes to be it.
 *
 * It applies each write to its log at once. Majority reads show a prefix of the log: what this member knows to be on a
 * majority.
 */
export class Member {
  readonly term: number;
  readonly log: Entry[] = [];
  /** The process is gone, and with it every reply. */
  isDead = false;
  /** It has learnt that it is not the primary. */
  hasSteppedDown = false;
  /** The same process as the primary of a later term. Nothing was rolled back, so its connections are still open. */
  next: Member | undefined;
  /** Until then, no other member replicates from it. */
  isAloneUntilMs = -Infinity;
  readonly #latest = new Map<string, Map<string, Document>>();
  /** How many entries of the log majority reads show. Never fewer than before. */
  shownTo = 0;
  readonly #shown = new Map<string, Map<string, Document>>();
  /** The place of the last entry of each document, by collection and id. */
  readonly #places = new Map<string, number>();

  constructor(term: number, log: readonly Entry[]) {
    this.term = term;
    for (const entry of log) this.append(entry);
  }

  get electionId(): Pick<ObjectId, 'toHexString'> {
    return { toHexString: () => `term ${this.term}` };
  }

  append(entry: Entry): void {
    this.log.push(entry);
    this.#places.set(`${entry.collection} ${entry.id}`, this.log.length);
    apply(this.#latest, entry);
  }

  /** Shows this many entries of the log to majority reads. */
  show(upTo: number): void {
    for (; this.shownTo < upTo; this.shownTo++) apply(this.#shown, this.log[this.shownTo]!);
  }

  /** How long the log was after the last write of this document. `Infinity` if there is none. */
  placeOf(collection: string, id: string): number {
    return this.#places.get(`${collection} ${id}`) ?? Infinity;
  }

  /** What reads with the concern `local` and writes see. */
  latest(collection: string): ReadonlyMap<string, Document> {
    return this.#latest.get(collection) ?? new Map();
  }

  /** What reads with the concern `majority` see. */
  shown(collection: string): ReadonlyMap<string, Document> {
    return this.#shown.get(collection) ?? new Map();
  }
}

function apply(state: Map<string, Map<string, Document>>, { collection, id, document }: Entry): void {
  const documents = state.get(collection) ?? new Map<string, Document>();
  state.set(collection, documents);
  if (document === undefined) documents.delete(id);
  else documents.set(id, document);
}

/**
 * A replica set: one primary at a time, and elections. An election keeps every entry that a majority has, and perhaps
 * some of the others. A former primary may win, with everything in its log. The new primary has all of its entries in its
 * log, but it shows only what it already knew to be on a majority, until an entry of its own term is committed. The old
 * one is dead, or serves stale reads for a while.
 *
 * Flaws: `loses-commits` (an election forgets entries that a majority had), `acknowledges-early` (a write is
 * acknowledged before a majority has it), `confirms-nothing` (a linearizable read does not commit an entry first).
 */
export class ReplicaSet {
  readonly simulation: Simulation;
  readonly flaw: string | undefined;
  /** Who learns of an election after a while. */
  readonly clients: { onElection(member: Member): void }[] = [];
  /** The latest term in which a document with this token arrived. */
  readonly termOfToken = new Map<string, number>();
  primary = new Member(1, []);
  readonly #former: Member[] = [];
  #committed = 0;

  constructor(simulation: Simulation, flaw: string | undefined) {
    this.simulation = simulation;
    this.flaw = flaw;
  }

  /** What a majority has. */
  committed(): readonly Entry[] {
    return this.primary.log.slice(0, this.#committed);
  }

  /** Whether a majority has the last write of this document. */
  isCommitted(collection: string, id: string): boolean {
    return this.primary.placeOf(collection, id) <= this.#committed;
  }

  /** @returns whether a majority has this many entries of the member's log now */
  commit(member: Member, upTo: number): boolean {
    if (member !== this.primary || this.simulation.nowMs < member.isAloneUntilMs) return false;
    this.#committed = Math.max(this.#committed, upTo);
    member.show(this.#committed);
    return true;
  }

  /** Schedules some elections in the first seconds. */
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

  /** Schedules one election. */
  electOnce(): void {
    this.simulation.later('election', 0, () => this.#elect(false));
  }

  /** @param mayRepeat whether another election may follow at once */
  #elect(mayRepeat = true): void {
    const { random, nowMs } = this.simulation;
    const old = this.primary;
    const log = this.#winningLog();
    const member = new Member(old.term + 1, log);
    // A new primary writes an entry that changes nothing. It takes until then to show everything.
    member.append({ collection: 'local', id: `term ${member.term}`, document: {} });
    const { length } = member.log;
    this.primary = member;
    this.#committed = Math.min(this.#committed, log.length);
    member.show(random.chance(0.5) ? this.#committed : random.integer(0, this.#committed));
    const beginsAfterMs = random.between(0, 3_000);
    if (random.chance(0.5)) {
      member.isAloneUntilMs = nowMs + beginsAfterMs;
      if (mayRepeat && random.chance(0.5))
        this.simulation.later('election', random.between(0, beginsAfterMs), () => this.#elect());
    }
    this.simulation.later(`term ${member.term} begins`, beginsAfterMs, () => this.commit(member, length));
    this.#retire(old);
    this.#former.push(old);
    const winner = this.#former.find((former) => !former.isDead && isPrefix(former.log, log));
    if (winner !== undefined && random.chance(0.5)) this.#return(winner, member);
    for (const client of this.clients) client.onElection(member);
  }

  /** The log of a secondary, or of a former primary. It has what a majority has. */
  #winningLog(): readonly Entry[] {
    const { random } = this.simulation;
    const { log } = this.primary;
    if (this.flaw === 'loses-commits') {
      return log.slice(0, random.integer(Math.floor(this.#committed / 2), this.#committed));
    }
    const committed = this.committed();
    const rivals = this.#former.filter((former) => isPrefix(committed, former.log));
    if (rivals.length > 0 && random.chance(0.5)) return random.pick(rivals).log;
    return log.slice(0, random.integer(this.#committed, log.length));
  }

  #return(winner: Member, member: Member): void {
    this.simulation.note(`the primary of term ${winner.term} is back`);
    this.simulation.reach('former-primary');
    this.#former.splice(this.#former.indexOf(winner), 1);
    winner.next = member;
    member.show(winner.shownTo);
  }

  #retire(old: Member): void {
    const { random } = this.simulation;
    if (this.flaw === 'never-notices') return;
    if (random.chance(0.3)) {
      this.simulation.note(`the primary of term ${old.term} is dead`);
      old.isDead = true;
      return;
    }
    const learnsAfterMs = random.chance(0.5) ? 0 : random.between(0, 20_000);
    this.simulation.later(`the primary of term ${old.term} steps down`, learnsAfterMs, () => {
      old.hasSteppedDown = true;
    });
  }
}

/** Two logs that have the same entry in the same place are equal up to it. */
function isPrefix(one: readonly Entry[], other: readonly Entry[]): boolean {
  return one.at(-1) === other[one.length - 1];
}
