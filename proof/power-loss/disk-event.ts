/** A call that changes what is on a disk, or that a promise begins with. Paths are absolute. */
export type DiskEvent =
  | { readonly type: 'create' | 'mkdir' | 'unlink'; readonly path: string }
  | { readonly type: 'rename'; readonly path: string; readonly to: string }
  /** An offset of -1 appends. */
  | { readonly type: 'write'; readonly path: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly type: 'truncate'; readonly path: string; readonly size: number }
  /** A sync that has ended well. It covers the events before number `covers`, when it began. */
  | { readonly type: 'sync'; readonly path: string; readonly covers: number }
  /** A write-back has failed: of what was dirty before event number `covers`, some pages did not reach the disk. */
  | { readonly type: 'failed'; readonly path: string; readonly covers: number }
  /** The kernel forgets its clean pages: what failed write-backs have dropped can no longer be read. */
  | { readonly type: 'evicted' }
  /** From now on, the database of the run must have these pets, each as its JSON: they were acknowledged, or shown. */
  | { readonly type: 'acknowledged'; readonly pets: readonly string[] }
  /** From now on, this file must be there. */
  | { readonly type: 'written'; readonly path: string };
