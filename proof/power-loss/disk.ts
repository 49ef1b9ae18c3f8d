import { dirname } from 'node:path';
import type { DiskEvent } from './disk-event.ts';

type Write = Extract<DiskEvent, { type: 'write' | 'truncate' }>;
type Naming = Extract<DiskEvent, { type: 'create' | 'mkdir' | 'unlink' | 'rename' }>;
type Pending<Event> = { readonly number: number; readonly event: Event };
type Inode = { durable: Buffer; pending: Pending<Write>[] };
type Names = Map<string, Inode>;

/** What a power cut destroys: whole events, and the end of one write. */
export type Loss = {
  readonly events: ReadonlySet<number>;
  readonly torn?: { readonly number: number; readonly keptBytes: number };
};

/** An event that a power cut may destroy. */
export type Unsynced = { readonly number: number; readonly bytes: number };

/**
 * A disk with a cache in front of it, which forgets what was not synced. It promises nothing else: what was written
 * later may reach the disk first, and so may the name of a file, or its contents without the name.
 */
export class Disk {
  #names: Names = new Map();
  readonly #durableNames: Names = new Map();
  #pendingNames: (Pending<Naming> & { readonly inode: Inode | undefined })[] = [];

  apply(event: DiskEvent, number: number): void {
    switch (event.type) {
      case 'write':
      case 'truncate':
        this.#names.get(event.path)?.pending.push({ number, event });
        break;
      case 'sync':
        this.#sync(event.path, event.covers);
        break;
      case 'acknowledged':
      case 'written':
        break;
      default: {
        const inode = event.type === 'create' ? { durable: Buffer.alloc(0), pending: [] } : undefined;
        this.#pendingNames.push({ number, event, inode });
        this.#names = rename(this.#names, event, inode);
      }
    }
  }

  /** What a power cut now may destroy, the oldest first. */
  unsynced(): readonly Unsynced[] {
    const inodes = new Set([...this.#names.values(), ...this.#durableNames.values()]);
    const writes = [...inodes].flatMap(({ pending }) =>
      pending.map(({ number, event }) => ({
        number,
        bytes: event.type === 'write' ? event.bytes.length : 0,
      })),
    );
    const names = this.#pendingNames.map(({ number }) => ({ number, bytes: 0 }));
    return [...writes, ...names].toSorted((one, other) => one.number - other.number);
  }

  /** The files that a power cut leaves. */
  afterLoss({ events, torn }: Loss): ReadonlyMap<string, Buffer> {
    let names: Names = new Map(this.#durableNames);
    for (const { number, event, inode } of this.#pendingNames) {
      if (!events.has(number)) names = rename(names, event, inode);
    }
    const contents = Array.from(names, ([path, { durable, pending }]) => {
      const kept = pending
        .filter(({ number }) => !events.has(number))
        .map(({ number, event }) => (torn?.number === number ? cut(event, torn.keptBytes) : event));
      return [path, written(durable, kept)] as const;
    });
    return new Map(contents);
  }

  #sync(path: string, covers: number): void {
    const inode = this.#names.get(path);
    if (inode !== undefined) {
      const isCovered = ({ number }: Pending<Write>) => number < covers;
      const covered = inode.pending.filter(isCovered).map(({ event }) => event);
      inode.durable = written(inode.durable, covered);
      inode.pending = inode.pending.filter((one) => !isCovered(one));
      return;
    }
    const isCovered = ({ number, event }: Pending<Naming>) => dirname(event.path) === path && number < covers;
    for (const { event, inode: made } of this.#pendingNames.filter(isCovered)) {
      const renamed = rename(this.#durableNames, event, made);
      this.#durableNames.clear();
      for (const [name, each] of renamed) this.#durableNames.set(name, each);
    }
    this.#pendingNames = this.#pendingNames.filter((one) => !isCovered(one));
  }
}

function rename(names: ReadonlyMap<string, Inode>, event: Naming, inode: Inode | undefined): Names {
  const renamed = new Map(names);
  if (event.type === 'create') renamed.set(event.path, inode!);
  if (event.type === 'unlink') renamed.delete(event.path);
  const moved = event.type === 'rename' ? renamed.get(event.path) : undefined;
  // A rename whose file was never named on the disk does nothing.
  if (event.type === 'rename' && moved !== undefined) {
    renamed.delete(event.path);
    renamed.set(event.to, moved);
  }
  return renamed;
}

/** A hole reads as zeros. */
function written(before: Buffer, events: readonly Write[]): Buffer {
  let [size, sizeAtMost] = [before.length, before.length];
  for (const event of events) sizeAtMost = Math.max(sizeAtMost, endOf(event, sizeAtMost));
  const after = Buffer.alloc(sizeAtMost);
  before.copy(after);
  for (const event of events) {
    if (event.type === 'truncate') {
      after.fill(0, event.size, Math.max(size, event.size));
      size = event.size;
    } else {
      const end = endOf(event, size);
      event.bytes.copy(after, end - event.bytes.length);
      size = Math.max(size, end);
    }
  }
  return after.subarray(0, size);
}

/** Where a write ends in a file of this size. An offset of -1 appends. */
function endOf(event: Write, size: number): number {
  if (event.type === 'truncate') return event.size;
  return (event.offset === -1 ? size : event.offset) + event.bytes.length;
}

function cut(event: Write, keptBytes: number): Write {
  return event.type === 'write' ? { ...event, bytes: event.bytes.subarray(0, keptBytes) } : event;
}
