/**
 * The storage cannot be used as it is, and only an operator can help: a bad URL, no server, a schema that does not
 * fit. The message is one line, says what to do, and holds no credentials.
 */
export class StorageSetupError extends Error {
  readonly kind = 'storage-setup';

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message.replaceAll(/\s+/g, ' '), options);
    this.name = 'StorageSetupError';
  }
}
