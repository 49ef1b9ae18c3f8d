import { expect, test } from 'vitest';
import { errorAnswer } from '../../../../src/adapters/http/contract/errors.ts';
import { routeNotFound } from '../../../../src/adapters/http/contract/refusals.ts';
import { InvalidPageSize } from '../../../../src/application/pets/errors.ts';
import { StorageSetupError } from '../../../../src/application/ports/storage-errors.ts';
import { InvalidPet } from '../../../../src/domain/pet.ts';

const REFUSED_MESSAGE = 'the storage refuses the record; it has been logged under this request id';

test.each([
  // A schema refuses an empty name or a wrong limit before a use case can throw these errors. If a use case
  // threw them, the answer would still be a 400.
  [new InvalidPet(['name must not be empty']), 400, 'INVALID_ARGUMENT', 'name must not be empty', {}],
  [new InvalidPageSize(), 400, 'INVALID_ARGUMENT', 'limit must be an integer from 1 to 100', {}],
  // The message of a StorageSetupError is for operators. A client must not receive this message.
  [new StorageSetupError('an index is unique'), 503, 'UNAVAILABLE', REFUSED_MESSAGE, { 'Retry-After': '2' }],
])('the error %s is answered with %i, and not as a bug', (error, status, code, message, headers) => {
  expect(errorAnswer(error)).toStrictEqual({ code, message, status, headers });
});

// The constructor of a refusal switches stack traces off for all errors, and must then switch them on.
test('a refusal has no stack trace, but an error that is created later has a stack trace', () => {
  expect(routeNotFound().stack).not.toContain('    at ');
  expect(new Error('a bug').stack).toContain('    at ');
});
