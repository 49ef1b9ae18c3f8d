import type { InvalidApiKey } from '../../domain/api-key.ts';

/** Every known failure of the use cases of API keys, except `StorageUnavailable`. */
export type ApiKeyError = InvalidApiKey | ApiKeyNotFound | ApiKeyNotActive | ApiKeyIdTaken | DamagedApiKey;

export class ApiKeyNotFound extends Error {
  readonly kind = 'api-key-not-found';
  readonly fault = 'client';
  readonly id: string;

  constructor(id: string) {
    super(`no key has the id ${id}`);
    this.name = 'ApiKeyNotFound';
    this.id = id;
  }
}

/** An expired or revoked key cannot be rotated. */
export class ApiKeyNotActive extends Error {
  readonly kind = 'api-key-not-active';
  readonly fault = 'client';
  readonly id: string;

  constructor(id: string, state: 'expired' | 'revoked') {
    super(`the key ${id} is ${state} and cannot be rotated; create a new key`);
    this.name = 'ApiKeyNotActive';
    this.id = id;
  }
}

/** The storage has a different key under this id. That key is unchanged. */
export class ApiKeyIdTaken extends Error {
  readonly kind = 'api-key-id-taken';
  readonly fault = 'client';
  readonly id: string;

  constructor(id: string) {
    super(`another key already has the id ${id}; it was not overwritten`);
    this.name = 'ApiKeyIdTaken';
    this.id = id;
  }
}

/**
 * The stored record of an API key breaks the rules of a key: it was damaged after it was written, and only an operator
 * can repair it. The key is not valid. The message never contains the value of a field.
 */
export class DamagedApiKey extends Error {
  readonly kind = 'damaged-api-key';
  readonly fault = 'operator';
  readonly id: string;
  readonly problem: string;

  /** @param problem a phrase such as "label must be …" */
  constructor(id: string, problem: string) {
    super(`the API key ${id} is damaged in the storage: ${problem}`);
    this.name = 'DamagedApiKey';
    this.id = id;
    this.problem = problem;
  }
}
