import { expect, test } from 'vitest';
import { errorAnswer } from '../../../../src/adapters/http/contract/errors.ts';
import { routeNotFound } from '../../../../src/adapters/http/contract/refusals.ts';
import { InvalidPageSize } from '../../../../src/application/pets/errors.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import { InvalidPet } from '../../../../src/domain/pet.ts';

const REFUSED = 'the storage refuses the record; it has been logged under this request id';

test.each([
  // A schema refuses these values before a use case sees them. Without the schema, the answer would still be 400.
  [new InvalidPet(['name must not be empty']), 400, 'INVALID_ARGUMENT', 'name must not be empty', {}],
  [new InvalidPageSize(), 400, 'INVALID_ARGUMENT', 'limit must be an integer from 1 to 100', {}],
  // The message of this error is for operators, so the client receives another message.
  [new StorageSetupError('an index is unique'), 503, 'UNAVAILABLE', REFUSED, { 'Retry-After': '2' }],
])('the error %s is answered with %i, and not as a bug', (error, status, code, message, headers) => {
  expect(errorAnswer(error)).toStrictEqual({ code, message, status, headers });
});

test('a refusal has no stack trace, and an error that is created after the refusal has one', () => {
  expect(routeNotFound().stack).not.toContain('    at ');
  expect(new Error('a bug').stack).toContain('    at ');
});
