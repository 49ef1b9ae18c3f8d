import { describe, expect, it } from 'vitest';
import { faultOf } from '../../src/application/fault.ts';
import { ApiKeyIdTaken, ApiKeyNotActive, ApiKeyNotFound } from '../../src/application/keys/errors.ts';
import {
  DamagedApiKey,
  StorageSetupError,
  StorageUnavailable,
} from '../../src/application/ports/storage-errors.ts';
import { TooFewPetIds } from '../../src/application/maintenance/skip-ids.ts';
import { CountsDiffer, IdempotencyKeyTaken, PetIdTaken } from '../../src/application/maintenance/errors.ts';
import {
  DamagedPet,
  IdempotencyKeyReused,
  InvalidPageSize,
  PetIdsExhausted,
  PetNotFound,
} from '../../src/application/pets/errors.ts';

describe('every error', () => {
  it.each([
    ['client', new ApiKeyIdTaken('a'), 'another key already has the id a; it was not overwritten'],
    [
      'client',
      new ApiKeyNotActive('a', 'expired'),
      'the key a is expired and cannot be rotated; create a new key',
    ],
    ['client', new ApiKeyNotFound('a'), 'no key has the id a'],
    [
      'operator',
      new CountsDiffer('target', { expected: 2, found: 1 }),
      'the target should have 2 pets, but it has 1: did something remove pets? Run the command again',
    ],
    [
      'operator',
      new DamagedApiKey('a', 'label is bad'),
      'the API key a is damaged in the storage: label is bad',
    ],
    ['operator', new DamagedPet(7n, 'torn'), 'the pet with the id 7 is damaged in the storage: torn'],
    [
      'client',
      new IdempotencyKeyReused(),
      'the idempotency key has been used for something else; use a new one',
    ],
    [
      'client',
      new IdempotencyKeyTaken(7n),
      'the pet with the id 7 was not stored: another pet already has its idempotency key',
    ],
    ['client', new InvalidPageSize(), 'limit must be an integer from 1 to 100'],
    [
      'client',
      new PetIdTaken(7n),
      'another pet already has the id 7; use an empty storage, or the API, which gives new ids',
    ],
    ['operator', new PetIdsExhausted(), 'no pet id is left'],
    ['client', new PetNotFound(7n), 'no pet has the id 7'],
    ['operator', new StorageSetupError('the  file\n is locked'), 'the file is locked'],
    ['operator', new TooFewPetIds(), 'fewer than 1000000000000 ids are left for new pets; none was skipped'],
    ['storage', new StorageUnavailable('the disk is full'), 'the disk is full'],
  ])('has a fault, its class as kind, and one line for people: %s, %s', (fault, error, message) => {
    const kind = error.constructor.name
      .replace(/Error$/, '')
      .replaceAll(/(?<!^)[A-Z]/g, '-$&')
      .toLowerCase();
    expect(error).toMatchObject({ kind, message });
    expect(faultOf(error)).toBe(fault);
  });

  it('is a bug when this program does not define it', () => {
    const foreign = [new Error('away'), { fault: 'client' }, null];
    expect(foreign.map(faultOf)).toStrictEqual(['bug', 'bug', 'bug']);
  });
});
