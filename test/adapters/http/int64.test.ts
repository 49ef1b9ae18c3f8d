import { describe, expect, test } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { problem, success, whole } from '../../support/answer.ts';
import { petsAfter } from '../../support/archived-pets.ts';
import { startApi } from '../../support/http.ts';
import { petBody, stored } from '../../support/pets.ts';

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';

describe('a categoryId comes back with the same digits', () => {
  const sentAndAnswered = [
    ['0', '0'],
    ['-0', '0'],
    ['0.0', '0'],
    ['-0e9', '0'],
    ['7', '7'],
    ['-7', '-7'],
    ['1.0', '1'],
    ['1.000', '1'],
    ['1e3', '1000'],
    ['1E+3', '1000'],
    ['1.5e1', '15'],
    ['1500e-2', '15'],
    ['-2.50e1', '-25'],
    ['0e999999999', '0'],
    ['0.0e-999999999999', '0'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['9.007199254740993e15', '9007199254740993'],
    [MAX, MAX],
    [MIN, MIN],
    [`${MAX}.0`, MAX],
    ['9.223372036854775807e18', MAX],
    ['922337203685477580700e-2', MAX],
    [`${MIN}.000e0`, MIN],
    [`1${'0'.repeat(18)}`, `1${'0'.repeat(18)}`],
    [`0.${'0'.repeat(50)}1e51`, '1'],
    [`1${'0'.repeat(60_000)}e-60000`, '1'],
  ];

  test.each(sentAndAnswered.map(([sent = '', digits = '']) => [shown(sent), sent, digits]))(
    '%s',
    async (_, sent, digits) => {
      await using api = await startApi();
      const pet = `{"id":1,"name":"Rex","categoryId":${digits},"status":"available"}`;
      const answer = await api.post(petBody({ categoryId: sent }));
      expect(whole(answer)).toStrictEqual(success(201, pet, { location: '/v1/pets/1' }));
      expect((await api.get('/v1/pets/1')).body).toBe(pet);
      expect((await api.get('/v1/pets')).body).toBe(`[${pet}]`);
    },
  );
});

describe('anything but an int64 is refused', () => {
  const refused = [
    '1.5',
    '-0.1',
    '15e-1',
    '1e-1',
    '1e-999999999',
    '9223372036854775808',
    '-9223372036854775809',
    '9223372036854775807.5',
    '18446744073709551616',
    '1e19',
    '1e999999999',
    '-1e999999999999999999999999',
    `1e${'9'.repeat(400)}`,
    '1'.repeat(60_000),
    `0.${'0'.repeat(60_000)}1`,
    '"7"',
    '"9223372036854775807"',
    'null',
    'true',
    '[7]',
    '{"$numberLong":"7"}',
  ];

  test.each(refused.map((sent) => [shown(sent), sent]))('%s', async (_, categoryId) => {
    await using api = await startApi();
    expect(whole(await api.post(petBody({ categoryId })))).toStrictEqual(
      problem(400, 'INVALID_ARGUMENT', 'categoryId must be an integer in the range of int64'),
    );
    expect((await api.get('/v1/pets')).body).toBe('[]');
  });
});

test('the path takes both ends of the range', async () => {
  await using api = await startApi();
  for (const id of [MAX, MIN]) {
    const { status, body } = await api.get(`/v1/pets/${id}`);
    expect({ status, body }).toStrictEqual({
      status: 404,
      body: `{"code":"PET_NOT_FOUND","message":"no pet has the id ${id}","status":404}`,
    });
  }
});

test('the cursor takes both ends of the range', async () => {
  const pets = new InMemoryPetRepository();
  await stored(pets, {});
  await using api = await startApi({ pets });
  const at = (id: string) => api.get(`/v1/pets?cursor=v1.${id}`);
  expect((await at('7fffffffffffffff')).body).toBe('[]');
  expect((await at('8000000000000000')).body).toBe(
    '[{"id":1,"name":"Rex","categoryId":7,"status":"available"}]',
  );
});

test('Location and id beyond 2^32', async () => {
  await using api = await startApi({ pets: await petsAfter(2n ** 53n - 3n) });
  expect(whole(await api.post(petBody()))).toStrictEqual(
    success(201, '{"id":9007199254740990,"name":"Rex","categoryId":7,"status":"available"}', {
      location: '/v1/pets/9007199254740990',
    }),
  );
  expect((await api.get('/v1/pets/9007199254740990')).status).toBe(200);
});

/** The beginning of a number that may be very long. */
function shown(number: string): string {
  return number.length > 40 ? `${number.slice(0, 30)}… (${number.length} characters)` : number;
}
