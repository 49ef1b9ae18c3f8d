import { expect, test } from 'vitest';
import { errorAnswer } from '../../../../src/adapters/http/contract/errors.ts';
import { routeNotFound } from '../../../../src/adapters/http/contract/refusals.ts';
import { InvalidPageSize } from '../../../../src/application/pets/errors.ts';
import { InvalidPet } from '../../../../src/domain/pet.ts';

// The schemas refuse such values before a use case sees them. If they did not, it would be no 500.
test.each([
  [new InvalidPet(['name must not be empty']), 'name must not be empty'],
  [new InvalidPageSize(), 'limit must be an integer from 1 to 100'],
])('%s of the application is 400', (error, message) => {
  expect(errorAnswer(error)).toStrictEqual({ code: 'INVALID_ARGUMENT', message, status: 400, headers: {} });
});

test('a bug has its stack in the log, also after a refusal, which has none', () => {
  expect(routeNotFound().stack).not.toContain('    at ');
  expect(new Error('a bug').stack).toContain('    at ');
});
