import type { StorageHost } from '../../src/application/ports/storage-health.ts';

/** A host for storages. Where a storage would end the process, this host throws an error. */
export function storageHost(warn: (message: string) => void = () => {}): StorageHost {
  return {
    warn,
    fatal(message) {
      throw new Error(`fatal: ${message}`);
    },
  };
}
