import type { StorageHost } from '../../src/application/ports/storage-health.ts';

/** A process that does not end: the call of the storage that would end it throws. */
export function storageHost(warn: (message: string) => void = () => {}): StorageHost {
  return {
    warn,
    fatal(message) {
      throw new Error(`fatal: ${message}`);
    },
  };
}
