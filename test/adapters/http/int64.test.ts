import { expect, test } from 'vitest';
import { invalid, success, whole } from '../../support/answer.ts';
import { startApi } from '../../support/http.ts';
import { petBody } from '../../support/pets.ts';

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';

// test/adapters/json has every way to write a number.
test.each([
  ['-0', '0'],
  ['1.0', '1'],
  ['1.5e1', '15'],
  ['-9007199254740993', '-9007199254740993'],
  [MAX, MAX],
  [`${MIN}.000e0`, MIN],
])('the categoryId %s comes back as %s', async (sent, digits) => {
  await using api = await startApi();
  const pet = `{"id":1,"name":"Rex","categoryId":${digits},"status":"available"}`;
  const answer = await api.post(petBody({ categoryId: sent }));
  expect(whole(answer)).toStrictEqual(success(201, pet, { location: '/v1/pets/1' }));
  expect((await api.get('/v1/pets/1')).body).toBe(pet);
  expect((await api.get('/v1/pets')).body).toBe(`[${pet}]`);
});

test('a categoryId that is no int64 is refused', async () => {
  await using api = await startApi();
  const numbers = ['1.5', '9223372036854775808', '-9223372036854775809', '1e19', '1e999999999'];
  const others = ['"7"', 'null', 'true', '[7]', '{"$numberLong":"7"}'];
  for (const categoryId of [...numbers, ...others]) {
    expect(whole(await api.post(petBody({ categoryId }))), categoryId).toStrictEqual(
      invalid('categoryId must be an integer in the range of int64'),
    );
  }
  expect((await api.get('/v1/pets')).body).toBe('[]');
});
