import { dirname } from 'node:path';
import type { DiskEvent } from './disk-event.ts';

type Write = Extract<DiskEvent, { type: 'write' | 'truncate' }>;
type Naming = Extract<DiskEvent, { type: 'create' | 'mkdir' | 'unlink' | 'rename' }>;
type Pending<Event> = { readonly number: number; readonly event: Event };
/**
 * The content of a file: the bytes on the disk, the unsynced writes, and by page number the new content of dropped
 * pages.
 */
type Inode = { durable: Buffer; pending: Pending<Write>[]; readonly dropped: Map<number, Buffer> };
/** The files by their path. */
type FilesByPath = Map<string, Inode>;

/** The part of the unsynced events that a power cut destroys: whole events, and the end of one write. */
export type Loss = {
  /** The numbers of the events. */
  readonly events: ReadonlySet<number>;
  /** A write of which only the first bytes reach the disk. */
  readonly torn?: { readonly number: number; readonly keptBytes: number };
};

export const NO_LOSS: Loss = { events: new Set() };

/** An event that a power cut may destroy. */
export type UnsyncedEvent = { readonly number: number; readonly bytes: number };

/** The size of a page of the cache. Linux writes, drops and evicts whole pages. */
const PAGE_BYTES = 4_096;

/**
 * A page in the cache that a sync must write to the disk. `index` is its position among the `count` dirty pages, in the
 * order of their first writes. `number` is the number of the last event that has written to the page.
 */
export type DirtyPage = { readonly index: number; readonly count: number; readonly number: number };

/**
 * Decides whether a failed write-back drops a page: marks it as clean, although the page was not written to the disk.
 */
type DropRule = (page: DirtyPage) => boolean;

/**
 * A model of a disk and of the cache in front of the disk. A power cut may destroy everything that was not synced.
 * Without a sync, events reach the disk in any order: a later write before an earlier one, the name of a file before
 * its content, or the content before the name.
 *
 * A page that a failed write-back drops is clean: programs read its new content from the cache, and no later sync
 * writes it. When the kernel evicts the page, the new content is gone. After a later write to the page, the whole page
 * is dirty, and the next sync writes it.
 */
export class Disk {
  readonly #drops: DropRule;
  /** The files under the names that programs see. */
  #files: FilesByPath = new Map();
  /** The files under the names that are on the disk. */
  readonly #durableFiles: FilesByPath = new Map();
  #pendingNamings: (Pending<Naming> & { readonly inode: Inode | undefined })[] = [];

  /** @param drops decides which dirty pages a failed write-back drops. Default: all of them */
  constructor(drops: DropRule = () => true) {
    this.#drops = drops;
  }

  apply(event: DiskEvent, number: number): void {
    switch (event.type) {
      case 'write':
      case 'truncate':
        this.#write(event, number);
        break;
      case 'sync':
        this.#sync(event.path, event.coversBefore);
        break;
      case 'failed':
        writeBack(this.#files.get(event.path)!, event.coversBefore, this.#drops);
        break;
      case 'evicted':
        for (const { dropped } of this.#files.values()) dropped.clear();
        break;
      case 'acknowledged':
      case 'written':
        break;
      default: {
        const inode =
          event.type === 'create' ? { durable: Buffer.alloc(0), pending: [], dropped: new Map() } : undefined;
        this.#pendingNamings.push({ number, event, inode });
        this.#files = applyNaming(this.#files, event, inode);
      }
    }
  }

  /** The events that a power cut now may destroy, the oldest first. */
  unsynced(): readonly UnsyncedEvent[] {
    const inodes = new Set([...this.#files.values(), ...this.#durableFiles.values()]);
    const writes = [...inodes].flatMap(({ pending }) =>
      pending.map(({ number, event }) => ({
        number,
        bytes: event.type === 'write' ? event.bytes.length : 0,
      })),
    );
    const names = this.#pendingNamings.map(({ number }) => ({ number, bytes: 0 }));
    return [...writes, ...names].toSorted((one, other) => one.number - other.number);
  }

  /** The files on the disk after a power cut that causes this loss. */
  afterLoss({ events, torn }: Loss): ReadonlyMap<string, Buffer> {
    let names: FilesByPath = new Map(this.#durableFiles);
    for (const { number, event, inode } of this.#pendingNamings) {
      if (!events.has(number)) names = applyNaming(names, event, inode);
    }
    const contents = Array.from(names, ([path, { durable, pending }]) => {
      const keptEvents = pending
        .filter(({ number }) => !events.has(number))
        .map(({ number, event }) => (torn?.number === number ? shorten(event, torn.keptBytes) : event));
      return [path, applyWrites(durable, keptEvents)] as const;
    });
    return new Map(contents);
  }

  /** The files as programs read them through the cache, with the new content of dropped pages. */
  cached(): ReadonlyMap<string, Buffer> {
    return new Map(Array.from(this.#files, ([path, inode]) => [path, readCached(inode)]));
  }

  #write(event: Write, number: number): void {
    const inode = this.#files.get(event.path);
    if (inode === undefined) return;
    const isAppended = event.type === 'write' && event.offset === -1;
    const size = isAppended || inode.dropped.size > 0 ? readCached(inode).length : 0;
    const writeAtOffset = isAppended ? { ...event, offset: size } : event;
    for (const page of inode.dropped.size > 0 ? pagesOf(writeAtOffset, size) : []) {
      const bytes = inode.dropped.get(page);
      const rewrite = { type: 'write', path: event.path, offset: page * PAGE_BYTES } as const;
      if (bytes !== undefined) inode.pending.push({ number, event: { ...rewrite, bytes } });
      inode.dropped.delete(page);
    }
    inode.pending.push({ number, event: writeAtOffset });
  }

  #sync(path: string, coversBefore: number): void {
    const inode = this.#files.get(path);
    if (inode !== undefined) return writeBack(inode, coversBefore, () => false);
    const isCovered = ({ number, event }: Pending<Naming>) =>
      dirname(event.path) === path && number < coversBefore;
    for (const { event, inode: newInode } of this.#pendingNamings.filter(isCovered)) {
      const newNames = applyNaming(this.#durableFiles, event, newInode);
      this.#durableFiles.clear();
      for (const [name, target] of newNames) this.#durableFiles.set(name, target);
    }
    this.#pendingNamings = this.#pendingNamings.filter((pending) => !isCovered(pending));
  }
}

function applyNaming(names: ReadonlyMap<string, Inode>, event: Naming, inode?: Inode): FilesByPath {
  const newNames = new Map(names);
  if (event.type === 'create') newNames.set(event.path, inode!);
  if (event.type === 'unlink') newNames.delete(event.path);
  const movedFile = event.type === 'rename' ? newNames.get(event.path) : undefined;
  // If the file has no name on the disk, its rename does nothing.
  if (event.type === 'rename' && movedFile !== undefined) {
    newNames.delete(event.path);
    newNames.set(event.to, movedFile);
  }
  return newNames;
}

function readCached({ durable, pending, dropped }: Inode): Buffer {
  const events = pending.map(({ event }) => event);
  const bytes = applyWrites(durable, events);
  for (const [page, content] of dropped) bytes.set(content, page * PAGE_BYTES);
  return bytes;
}

function writeBack(inode: Inode, coversBefore: number, drops: DropRule): void {
  const coveredWrites = inode.pending.filter(({ number }) => number < coversBefore);
  inode.pending = inode.pending.filter(({ number }) => number >= coversBefore);
  const events = coveredWrites.map(({ event }) => event);
  const newContent = applyWrites(inode.durable, events);
  // A failed write-back does not affect the size of a file, because the file system keeps the size in its journal.
  const truncations = events.filter(({ type }) => type === 'truncate');
  const oldContent = applyWrites(inode.durable, truncations);
  const writes = coveredWrites.filter(({ event }) => event.type === 'write');
  const dirtyPages = new Map(
    writes.flatMap(({ number, event }) => pagesOf(event, newContent.length).map((page) => [page, number])),
  );
  // A page that was written to after the sync began stays dirty.
  for (const { event } of inode.pending)
    pagesOf(event, newContent.length).forEach((page) => dirtyPages.delete(page));
  for (const [index, [page, number]] of [...dirtyPages].entries()) {
    const [start, end] = [page * PAGE_BYTES, Math.min((page + 1) * PAGE_BYTES, newContent.length)];
    if (start >= end || !drops({ index, count: dirtyPages.size, number })) continue;
    inode.dropped.set(page, Buffer.from(newContent.subarray(start, end)));
    newContent.fill(0, start, end).set(oldContent.subarray(start, end), start);
  }
  inode.durable = newContent;
}

/** The numbers of the pages that an event changes in a file with `size` bytes. */
function pagesOf(event: Write, size: number): number[] {
  const end = endOf(event);
  const [first, last] =
    event.type === 'truncate' ? [end, Math.max(end, size)] : [end - event.bytes.length, end];
  const pages: number[] = [];
  for (let page = Math.floor(first / PAGE_BYTES); page * PAGE_BYTES < last; page++) pages.push(page);
  return pages;
}

/** The content of a file after these events. Bytes that were never written are zeros. */
function applyWrites(oldContent: Buffer, events: readonly Write[]): Buffer {
  let [size, maxSize] = [oldContent.length, oldContent.length];
  for (const event of events) maxSize = Math.max(maxSize, endOf(event));
  const newContent = Buffer.alloc(maxSize);
  oldContent.copy(newContent);
  for (const event of events) {
    if (event.type === 'truncate') {
      newContent.fill(0, event.size, Math.max(size, event.size));
      size = event.size;
    } else {
      const end = endOf(event);
      event.bytes.copy(newContent, end - event.bytes.length);
      size = Math.max(size, end);
    }
  }
  return newContent.subarray(0, size);
}

function endOf(event: Write): number {
  return event.type === 'truncate' ? event.size : event.offset + event.bytes.length;
}

function shorten(event: Write, keptBytes: number): Write {
  return event.type === 'write' ? { ...event, bytes: event.bytes.subarray(0, keptBytes) } : event;
}
