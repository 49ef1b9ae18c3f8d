import { dirname } from 'node:path';
import type { DiskEvent } from './disk-event.ts';

type Write = Extract<DiskEvent, { type: 'write' | 'truncate' }>;
type Naming = Extract<DiskEvent, { type: 'create' | 'mkdir' | 'unlink' | 'rename' }>;
type Pending<Event> = { readonly number: number; readonly event: Event };
type Inode = { durable: Buffer; pending: Pending<Write>[]; readonly dropped: Map<number, Buffer> };
type Names = Map<string, Inode>;

/** What a power cut destroys: whole events, and the end of one write. */
export type Loss = {
  readonly events: ReadonlySet<number>;
  readonly torn?: { readonly number: number; readonly keptBytes: number };
};

export const NO_LOSS: Loss = { events: new Set() };

/** An event that a power cut may destroy. */
export type Unsynced = { readonly number: number; readonly bytes: number };

/** What Linux writes back, drops and evicts at once. */
const PAGE_BYTES = 4_096;

/** A dirty page: its place in the order of first writes, and the number of the last event that has written to it. */
export type DirtyPage = { readonly index: number; readonly count: number; readonly number: number };

/** Whether a failed write-back drops a page. */
type Drops = (page: DirtyPage) => boolean;

/**
 * A disk with a cache in front of it, which forgets what was not synced. It promises nothing else: what was written
 * later may reach the disk first, and so may the name of a file, or its contents without the name.
 *
 * A page that a failed write-back drops is clean: programs read it from the cache, no later sync writes it, and it is
 * gone when the kernel evicts it. A later write to the page makes the whole page dirty again.
 */
export class Disk {
  readonly #drops: Drops;
  #names: Names = new Map();
  readonly #durableNames: Names = new Map();
  #pendingNames: (Pending<Naming> & { readonly inode: Inode | undefined })[] = [];

  /** @param drops all dirty pages by default */
  constructor(drops: Drops = () => true) {
    this.#drops = drops;
  }

  apply(event: DiskEvent, number: number): void {
    switch (event.type) {
      case 'write':
      case 'truncate':
        this.#write(event, number);
        break;
      case 'sync':
        this.#sync(event.path, event.covers);
        break;
      case 'failed':
        writeBack(this.#names.get(event.path)!, event.covers, this.#drops);
        break;
      case 'evicted':
        for (const { dropped } of this.#names.values()) dropped.clear();
        break;
      case 'acknowledged':
      case 'written':
        break;
      default: {
        const inode =
          event.type === 'create' ? { durable: Buffer.alloc(0), pending: [], dropped: new Map() } : undefined;
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

  /** The files as programs read them, with what failed write-backs have dropped. */
  cached(): ReadonlyMap<string, Buffer> {
    return new Map(Array.from(this.#names, ([path, inode]) => [path, read(inode)]));
  }

  #write(event: Write, number: number): void {
    const inode = this.#names.get(event.path);
    if (inode === undefined) return;
    const isAppended = event.type === 'write' && event.offset === -1;
    const size = isAppended || inode.dropped.size > 0 ? read(inode).length : 0;
    const placed = isAppended ? { ...event, offset: size } : event;
    for (const page of inode.dropped.size > 0 ? pagesOf(placed, size) : []) {
      const bytes = inode.dropped.get(page);
      const again = { type: 'write', path: event.path, offset: page * PAGE_BYTES } as const;
      if (bytes !== undefined) inode.pending.push({ number, event: { ...again, bytes } });
      inode.dropped.delete(page);
    }
    inode.pending.push({ number, event: placed });
  }

  #sync(path: string, covers: number): void {
    const inode = this.#names.get(path);
    if (inode !== undefined) return writeBack(inode, covers, () => false);
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

function read({ durable, pending, dropped }: Inode): Buffer {
  const events = pending.map(({ event }) => event);
  const bytes = written(durable, events);
  for (const [page, content] of dropped) bytes.set(content, page * PAGE_BYTES);
  return bytes;
}

function writeBack(inode: Inode, covers: number, drops: Drops): void {
  const covered = inode.pending.filter(({ number }) => number < covers);
  inode.pending = inode.pending.filter(({ number }) => number >= covers);
  const events = covered.map(({ event }) => event);
  const after = written(inode.durable, events);
  // The journal of a file system keeps the size of a file, apart from its pages.
  const sizes = events.filter(({ type }) => type === 'truncate');
  const before = written(inode.durable, sizes);
  const writes = covered.filter(({ event }) => event.type === 'write');
  const dirty = new Map(
    writes.flatMap(({ number, event }) => pagesOf(event, after.length).map((page) => [page, number])),
  );
  // What is written to meanwhile stays dirty.
  for (const { event } of inode.pending) for (const page of pagesOf(event, after.length)) dirty.delete(page);
  for (const [index, [page, number]] of [...dirty].entries()) {
    const [start, end] = [page * PAGE_BYTES, Math.min((page + 1) * PAGE_BYTES, after.length)];
    if (start >= end || !drops({ index, count: dirty.size, number })) continue;
    inode.dropped.set(page, Buffer.from(after.subarray(start, end)));
    after.fill(0, start, end).set(before.subarray(start, end), start);
  }
  inode.durable = after;
}

/** The pages that change with an event, in a file of this size. */
function pagesOf(event: Write, size: number): number[] {
  const end = endOf(event);
  const [first, last] =
    event.type === 'truncate' ? [end, Math.max(end, size)] : [end - event.bytes.length, end];
  const pages: number[] = [];
  for (let page = Math.floor(first / PAGE_BYTES); page * PAGE_BYTES < last; page++) pages.push(page);
  return pages;
}

/** A hole reads as zeros. */
function written(before: Buffer, events: readonly Write[]): Buffer {
  let [size, sizeAtMost] = [before.length, before.length];
  for (const event of events) sizeAtMost = Math.max(sizeAtMost, endOf(event));
  const after = Buffer.alloc(sizeAtMost);
  before.copy(after);
  for (const event of events) {
    if (event.type === 'truncate') {
      after.fill(0, event.size, Math.max(size, event.size));
      size = event.size;
    } else {
      const end = endOf(event);
      event.bytes.copy(after, end - event.bytes.length);
      size = Math.max(size, end);
    }
  }
  return after.subarray(0, size);
}

function endOf(event: Write): number {
  return event.type === 'truncate' ? event.size : event.offset + event.bytes.length;
}

function cut(event: Write, keptBytes: number): Write {
  return event.type === 'write' ? { ...event, bytes: event.bytes.subarray(0, keptBytes) } : event;
}
