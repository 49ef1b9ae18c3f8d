import { expect, it } from 'vitest';
import { faultOf } from '../../src/domain/fault.ts';
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

/** An error of each class with its message, in one list per fault. */
const CLIENT: readonly (readonly [Error, string])[] = [
  [new ApiKeyIdTaken('a'), 'another key already has the id a; it was not overwritten'],
  [new ApiKeyNotActive('a', 'expired'), 'the key a is expired and cannot be rotated; create a new key'],
  [new ApiKeyNotFound('a'), 'no key has the id a'],
  [new IdempotencyKeyReused(), 'the idempotency key has been used for something else; use a new one'],
  [
    new IdempotencyKeyTaken(7n),
    'the pet with the id 7 was not stored: another pet already has its idempotency key',
  ],
  [new InvalidPageSize(), 'limit must be an integer from 1 to 100'],
  [
    new PetIdTaken(7n),
    'another pet already has the id 7; use an empty storage, or the API, which gives new ids',
  ],
  [new PetNotFound(7n), 'no pet has the id 7'],
];
const OPERATOR: typeof CLIENT = [
  [
    new CountsDiffer('target', { expected: 2, found: 1 }),
    'the target should have 2 pets, but it has 1: did something remove pets? Run the command again',
  ],
  [new DamagedApiKey('a', 'label is bad'), 'the API key a is damaged in the storage: label is bad'],
  [new DamagedPet(7n, 'torn'), 'the pet with the id 7 is damaged in the storage: torn'],
  [new PetIdsExhausted(), 'no pet id is left'],
  [new StorageSetupError('the  file\n is locked'), 'the file is locked'],
  [new TooFewPetIds(), 'fewer than 1000000000000 ids are left for new pets; none was skipped'],
];
const STORAGE: typeof CLIENT = [[new StorageUnavailable('the disk is full'), 'the disk is full']];

it.each(
  Object.entries({ client: CLIENT, operator: OPERATOR, storage: STORAGE }).flatMap(([fault, errors]) =>
    errors.map(([error, message]) => ({ fault, error, message })),
  ),
)('every error has a fault, a kind like its class, and a one-line message: $fault, $message', (expected) => {
  const { fault, error, message } = expected;
  const kind = error.constructor.name
    .replace(/Error$/, '')
    .replaceAll(/(?<!^)[A-Z]/g, '-$&')
    .toLowerCase();
  expect(error).toMatchObject({ kind, message });
  expect(faultOf(error)).toBe(fault);
});

it('an error that this program does not define is a bug', () => {
  const foreign = [new Error('away'), { fault: 'client' }, null];
  expect(foreign.map(faultOf)).toStrictEqual(['bug', 'bug', 'bug']);
});
