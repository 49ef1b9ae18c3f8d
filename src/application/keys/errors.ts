import type { InvalidApiKey } from '../../domain/api-key.ts';
import type { DamagedApiKey } from '../ports/storage-errors.ts';

/** The errors of the use cases of API keys, except `StorageUnavailable`. */
export type ApiKeyError = InvalidApiKey | ApiKeyNotFound | ApiKeyNotActive | ApiKeyIdTaken | DamagedApiKey;

export class ApiKeyNotFound extends Error {
  readonly kind = 'api-key-not-found';
  readonly fault = 'client';

  constructor(id: string) {
    super(`no key has the id ${id}`);
  }
}

export class ApiKeyNotActive extends Error {
  readonly kind = 'api-key-not-active';
  readonly fault = 'client';

  constructor(id: string, state: 'expired' | 'revoked') {
    super(`the key ${id} is ${state} and cannot be rotated; create a new key`);
  }
}

export class ApiKeyIdTaken extends Error {
  readonly kind = 'api-key-id-taken';
  readonly fault = 'client';

  constructor(id: string) {
    super(`another key already has the id ${id}; it was not overwritten`);
  }
}
