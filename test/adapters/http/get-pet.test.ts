import { expect, test } from 'vitest';
import { PetId } from '../../../src/adapters/http/operations/get-pet.ts';
import { parse } from '../../../src/adapters/http/contract/schemas.ts';
import { announced, problem, REX, success, whole } from '../../support/answer.ts';
import { apiWithPets } from './api-with-pets.ts';

test.each(['1', '%31', '1?'])('an existing pet: %s', async (id) => {
  await using api = await apiWithPets([{}]);
  expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(success(200, REX, announced(api.url)));
});

test('a valid id that no pet has: 404', async () => {
  await using api = await apiWithPets([{}]);
  for (const id of ['0', '2', '9007199254740993', '9223372036854775807', '-9223372036854775808']) {
    expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(
      problem(404, 'PET_NOT_FOUND', `no pet has the id ${id}`, announced(api.url)),
    );
  }
  expect(api.log.failures).toStrictEqual([]);
});

const PET_ID = 'petId must be an int64 in canonical decimal digits';

test('an id is an int64 in canonical decimal digits', () => {
  const outOfRange = ['9223372036854775808', '-9223372036854775809', '9'.repeat(26)];
  for (const id of [
    ...outOfRange,
    '',
    '01',
    '-0',
    '+1',
    '-',
    '1.0',
    '1e0',
    '0x1',
    '1n',
    ' 1',
    '1\n',
    '\u0661',
  ]) {
    expect(() => parse(PetId, id, 'petId'), id).toThrow(PET_ID);
  }
});

test('an invalid id: 400, and no header holds it', async () => {
  await using api = await apiWithPets([{}]);
  for (const id of [
    '9'.repeat(19),
    '%201',
    '%00',
    '1%2F2',
    '%',
    '%zz',
    '%E0%A4',
    '__proto__',
    '1;v=2',
    '1%0d%0aX-Evil:%20b',
    '1>;rel=next',
  ]) {
    expect(whole(await api.get(`/v1/pets/${id}`)), id).toStrictEqual(
      problem(400, 'INVALID_ARGUMENT', PET_ID, announced(api.url)),
    );
  }
});

test('a query parameter is refused', async () => {
  await using api = await apiWithPets([{}]);
  expect(whole(await api.get('/v1/pets/1?status=sold'))).toStrictEqual(
    problem(400, 'INVALID_ARGUMENT', 'status is not a parameter of this operation', announced(api.url)),
  );
});
