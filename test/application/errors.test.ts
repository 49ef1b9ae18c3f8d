import { describe, expect, it } from 'vitest';
import { ApiKeyIdTaken, ApiKeyNotActive, ApiKeyNotFound } from '../../src/application/keys/errors.ts';
import {
  DamagedApiKey,
  StorageSetupError,
  StorageUnavailable,
} from '../../src/application/ports/storage-errors.ts';
import { CountsDiffer, IdempotencyKeyTaken, PetIdTaken } from '../../src/application/moving/errors.ts';
import {
  DamagedPet,
  IdempotencyKeyReused,
  InvalidPageSize,
  PetIdsExhausted,
  PetNotFound,
} from '../../src/application/pets/errors.ts';

const KEY = '0123456789abcdef';

describe('every error', () => {
  it.each([
    [new ApiKeyIdTaken(KEY), `another key already has the id ${KEY}; it was not overwritten`],
    [
      new ApiKeyNotActive(KEY, 'expired'),
      `the key ${KEY} is expired and cannot be rotated; create a new key`,
    ],
    [new ApiKeyNotFound(KEY), `no key has the id ${KEY}`],
    [
      new CountsDiffer('target', { expected: 2, found: 1 }),
      'the target should have 2 pets, but it has 1: did something remove pets? Run the command again',
    ],
    [new DamagedApiKey(KEY, 'label is bad'), `the API key ${KEY} is damaged in the storage: label is bad`],
    [new DamagedPet(7n, 'name is bad'), 'the pet with the id 7 is damaged in the storage: name is bad'],
    [new IdempotencyKeyReused(), 'the idempotency key has been used for something else; use a new one'],
    [
      new IdempotencyKeyTaken(7n),
      'the pet with the id 7 was not stored: another pet already has its idempotency key',
    ],
    [new InvalidPageSize({ min: 1, max: 100 }), 'limit must be an integer from 1 to 100'],
    [
      new PetIdTaken(7n),
      'another pet already has the id 7; use an empty storage, or the API, which gives new ids',
    ],
    [new PetIdsExhausted(), 'no pet id is left'],
    [new PetNotFound(7n), 'no pet has the id 7'],
    [new StorageSetupError('the  file\n is locked'), 'the file is locked'],
    [new StorageUnavailable('the disk is full'), 'the disk is full'],
  ])('has the name of its class, that name as its kind, and one line for people: %s', (error, message) => {
    const { name } = error.constructor;
    const kind = name
      .replace(/Error$/, '')
      .replaceAll(/(?<!^)[A-Z]/g, '-$&')
      .toLowerCase();
    expect(error).toMatchObject({ name, kind, message });
  });
});
