import { expect, test } from 'vitest';
import { idempotencyKey } from '../../../../src/adapters/http/wire/idempotency.ts';

test('what is stored stays as it is: a key is remembered as long as its pet exists', () => {
  expect(idempotencyKey('a-key', 'an-id')).toBe('["an-id","POST /v1/pets","a-key"]');
});
