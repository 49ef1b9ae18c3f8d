import { expect, test } from 'vitest';
import { errorAnswer } from '../../../../src/adapters/http/contract/errors.ts';
import { routeNotFound } from '../../../../src/adapters/http/contract/refusals.ts';
import { InvalidPageSize } from '../../../../src/application/pets/errors.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import { InvalidPet } from '../../../../src/domain/pet.ts';

const REFUSED = 'the storage refuses the record; it has been logged under this request id';

test.each([
  // The schemas refuse such values before a use case sees them. If they did not, it would be no 500.
  [new InvalidPet(['name must not be empty']), 400, 'INVALID_ARGUMENT', 'name must not be empty', {}],
  [new InvalidPageSize(), 400, 'INVALID_ARGUMENT', 'limit must be an integer from 1 to 100', {}],
  // What it says is for operators.
  [new StorageSetupError('an index is unique'), 503, 'UNAVAILABLE', REFUSED, { 'Retry-After': '2' }],
])('the error %s is not a bug: %i', (error, status, code, message, headers) => {
  expect(errorAnswer(error)).toStrictEqual({ code, message, status, headers });
});

test('a bug has its stack, even after a refusal, which has none', () => {
  expect(routeNotFound().stack).not.toContain('    at ');
  expect(new Error('a bug').stack).toContain('    at ');
});
