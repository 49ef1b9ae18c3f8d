import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { type Api, startApi } from '../../support/http.ts';
import { stored } from '../../support/pets.ts';

const REX = '{"id":1,"name":"Rex","categoryId":7,"status":"available"}';
const PET_ID = 'petId must be an int64 in canonical decimal digits';

function deprecated({ url }: Api): Record<string, string> {
  return {
    deprecation: '@1795132800',
    sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
    link: `<${url}/docs#getPet>; rel="deprecation"; type="text/html"`,
  };
}

async function apiWithRex(): Promise<Api> {
  const pets = new InMemoryPetRepository();
  await stored(pets, {});
  return startApi({ pets });
}

test.each(['1', '%31', '1?'])('an existing pet: %s', async (id) => {
  await using api = await apiWithRex();
  expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(success(200, REX, deprecated(api)));
});

test.each(['0', '2', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'])(
  'a valid id that no pet has: %s',
  async (id) => {
    await using api = await apiWithRex();
    expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(
      problem(404, 'PET_NOT_FOUND', `no pet has the id ${id}`, deprecated(api)),
    );
  },
);

describe('an invalid id: 400', () => {
  test.each([
    '9223372036854775808',
    '-9223372036854775809',
    '99999999999999999999999999',
    '01',
    '-0',
    '+1',
    '-',
    '1.0',
    '1e0',
    '0x1',
    '1n',
    'rex',
    'null',
    '%201',
    '1%20',
    '1%0A',
    '%D9%A1',
    '%00',
    '1%2F2',
    '%2F',
    '%',
    '%zz',
    '%E0%A4',
    '__proto__',
    '1;v=2',
  ])('%s', async (id) => {
    await using api = await apiWithRex();
    expect(whole(await api.get(`/v1/pets/${id}`))).toStrictEqual(
      problem(400, 'INVALID_ARGUMENT', PET_ID, deprecated(api)),
    );
  });
});

test('a query parameter is refused', async () => {
  await using api = await apiWithRex();
  expect(whole(await api.get('/v1/pets/1?status=sold'))).toStrictEqual(
    problem(400, 'INVALID_ARGUMENT', 'status is not a parameter of this operation', deprecated(api)),
  );
});
