import { countText } from './count-text.ts';

/** `check` has found something. The findings are on standard output. */
export class StorageUnsound extends Error {
  readonly kind = 'storage-unsound';
  readonly fault = 'operator';

  constructor(findings: number) {
    super(`the storage has ${countText(findings, 'problem')}; see docs/storage.md#check-a-storage`);
    this.name = 'StorageUnsound';
  }
}
