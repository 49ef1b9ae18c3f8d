/**
 * The storage cannot be reached or cannot do its work now; a later try may succeed. Of a write the outcome is
 * unknown: it was not acknowledged, but it may have been done.
 */
export class StorageUnavailable extends Error {
  readonly kind = 'storage-unavailable';

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'StorageUnavailable';
  }
}

/**
 * The storage cannot be used as it is, and only an operator can help: a bad URL, no server, a file or a schema that
 * does not fit. Comes only while a storage is opened or set up. The message is one line, says what to do, and holds
 * no credentials.
 */
export class StorageSetupError extends Error {
  readonly kind = 'storage-setup';

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message.replaceAll(/\s+/g, ' '), options);
    this.name = 'StorageSetupError';
  }
}
