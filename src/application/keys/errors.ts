import type { InvalidApiKey } from '../../domain/api-key.ts';

/** What managing keys is known to fail with, besides {@link StorageUnavailable}. */
export type ApiKeyError = InvalidApiKey | ApiKeyNotFound | ApiKeyNotActive | ApiKeyIdTaken;

export class ApiKeyNotFound extends Error {
  readonly kind = 'api-key-not-found';
  readonly id: string;

  constructor(id: string) {
    super(`no key has the id ${id}`);
    this.name = 'ApiKeyNotFound';
    this.id = id;
  }
}

/** A key that is revoked or expired was to be replaced. */
export class ApiKeyNotActive extends Error {
  readonly kind = 'api-key-not-active';
  readonly id: string;

  constructor(id: string, state: 'expired' | 'revoked') {
    super(`the key ${id} is ${state}, so that there is nothing to overlap with; create a new one`);
    this.name = 'ApiKeyNotActive';
    this.id = id;
  }
}

/** Another key is there under this id. It was not overwritten. */
export class ApiKeyIdTaken extends Error {
  readonly kind = 'api-key-id-taken';
  readonly id: string;

  constructor(id: string) {
    super(`another key is there under the id ${id}; it was not overwritten`);
    this.name = 'ApiKeyIdTaken';
    this.id = id;
  }
}

/** What the storage holds as an API key breaks the rules of a key. It is never valid. As {@link DamagedPet}. */
export class DamagedApiKey extends Error {
  readonly kind = 'damaged-api-key';
  readonly id: string;

  constructor(id: string, problem: string) {
    super(`the API key ${id} is damaged in the storage: ${problem}`);
    this.name = 'DamagedApiKey';
    this.id = id;
  }
}
