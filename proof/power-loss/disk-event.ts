/**
 * An event that changes the files on a disk, or after which a pet or a file must be there. Paths are absolute. The
 * events of a recording are numbered from 0.
 */
export type DiskEvent =
  | { readonly type: 'create' | 'mkdir' | 'unlink'; readonly path: string }
  | { readonly type: 'rename'; readonly path: string; readonly to: string }
  /** With the offset -1, the bytes are appended. */
  | { readonly type: 'write'; readonly path: string; readonly offset: number; readonly bytes: Buffer }
  | { readonly type: 'truncate'; readonly path: string; readonly size: number }
  /**
   * A successful sync. The sync covers the events with a number below `coversBefore`: they came before the sync began.
   */
  | { readonly type: 'sync'; readonly path: string; readonly coversBefore: number }
  /**
   * A failed write-back: some of the pages that were written before event number `coversBefore` did not reach the disk.
   */
  | { readonly type: 'failed'; readonly path: string; readonly coversBefore: number }
  /**
   * The cache loses its clean pages. Programs can no longer read the content that a failed write-back did not write.
   */
  | { readonly type: 'evicted' }
  /**
   * These pets were acknowledged or shown, so the database of the run must have them from now on. Each is a JSON text.
   */
  | { readonly type: 'acknowledged'; readonly pets: readonly string[] }
  /** A command has reported that it has written this file, so the file must be there from now on. */
  | { readonly type: 'written'; readonly path: string };
