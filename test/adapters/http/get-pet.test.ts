import { expect, test } from 'vitest';
import { sunsetHeaders, invalid, problem, REX, success, brief } from '../../support/answer.ts';
import { apiWithPets } from './api-with-pets.ts';

test.each(['1', '%31', '1?'])('getPet returns the pet with the id 1 for the path /v1/pets/%s', async (id) => {
  await using api = await apiWithPets([{}]);
  expect(brief(await api.get(`/v1/pets/${id}`))).toStrictEqual(success(200, REX, sunsetHeaders(api.url)));
});

test('getPet answers 404 if no pet has the id', async () => {
  await using api = await apiWithPets([{}]);
  for (const id of ['0', '2', '9007199254740993', '9223372036854775807', '-9223372036854775808']) {
    expect(brief(await api.get(`/v1/pets/${id}`))).toStrictEqual(
      problem(404, 'PET_NOT_FOUND', `no pet has the id ${id}`, sunsetHeaders(api.url)),
    );
  }
  expect(api.log.failures).toStrictEqual([]);
});

test('getPet answers 400 to an id that is no int64 in canonical decimal digits, and no header repeats the id', async () => {
  await using api = await apiWithPets([{}]);
  const expected = invalid('petId must be an int64 in canonical decimal digits', sunsetHeaders(api.url));
  const invalidNumbers = [
    '9223372036854775808',
    '-9223372036854775809',
    '01',
    '-0',
    '+1',
    '1.0',
    '0x1',
    '%201',
    '1%0A',
  ];
  const otherTexts = ['%D9%A1', '%00', '1%2F2', '%', '%E0%A4', '1%0d%0aX-Evil:%20b', '1>;rel=next'];
  for (const id of [...invalidNumbers, ...otherTexts])
    expect(brief(await api.get(`/v1/pets/${id}`)), id).toStrictEqual(expected);
});

test('getPet refuses every query parameter', async () => {
  await using api = await apiWithPets([{}]);
  expect(brief(await api.get('/v1/pets/1?status=sold'))).toStrictEqual(
    invalid('status is not a parameter of this operation', sunsetHeaders(api.url)),
  );
});
