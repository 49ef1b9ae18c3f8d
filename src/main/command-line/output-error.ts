/** Standard output cannot be written: its reader is gone, or the disk is full. */
export class OutputError extends Error {
  readonly kind = 'output';
  readonly fault = 'operator';
  /** Such as `head`, which has read enough. */
  readonly isReaderGone: boolean;

  constructor(cause: Error) {
    super(`standard output cannot be written: ${cause.message}`, { cause });
    this.name = 'OutputError';
    this.isReaderGone = 'code' in cause && cause.code === 'EPIPE';
  }
}
