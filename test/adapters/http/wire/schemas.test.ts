import { describe, expect, test } from 'vitest';
import { PetId } from '../../../../src/adapters/http/operations/get-pet.ts';
import { PageQuery } from '../../../../src/adapters/http/operations/list-pets.ts';
import { RequestRefused } from '../../../../src/adapters/http/wire/errors.ts';
import { NewPet, parse } from '../../../../src/adapters/http/wire/schemas.ts';
import {
  INT64_MAX,
  INT64_MIN,
  PAGE_SIZE_MAX,
  PAGE_SIZE_MIN,
  PET_STATUSES,
} from '../../../../src/domain/pet.ts';

const CURSOR = 'v1.0000000000000001';
const REX = { name: 'Rex', categoryId: 7n };

test('every valid limit, and no other', () => {
  const accepted = [];
  for (let limit = -5; limit <= 1100; limit++) {
    try {
      accepted.push(parse(PageQuery, { limit: String(limit) }, 'query').limit);
    } catch (error) {
      if (!(error instanceof RequestRefused)) throw error;
    }
  }
  expect(accepted).toStrictEqual(Array.from({ length: PAGE_SIZE_MAX }, (_, index) => index + PAGE_SIZE_MIN));
});

test.each([0n, 1n, -1n, INT64_MAX, INT64_MIN])('the id %s', (id) => {
  expect(parse(PetId, String(id), 'petId')).toBe(id);
});

test.each([INT64_MAX + 1n, INT64_MIN - 1n, 10n ** 30n])('%s is not an id', (id) => {
  expect(() => parse(PetId, String(id), 'petId')).toThrow('petId must be an int64');
});

describe('a new pet', () => {
  test('is available by default', () => {
    expect(parse(NewPet, REX, 'body')).toStrictEqual({ ...REX, status: 'available' });
    for (const status of PET_STATUSES) {
      expect(parse(NewPet, { ...REX, status }, 'body')).toStrictEqual({ ...REX, status });
    }
  });

  test('loses every unknown field', () => {
    const input = { ...REX, id: 99n, toString: 1, constructor: 2 };
    expect(Object.keys(parse(NewPet, input, 'body'))).toStrictEqual(['name', 'categoryId', 'status']);
  });

  test('is refused for all its problems at once', () => {
    const input = { name: '', categoryId: 1.5, status: 'dead' };
    expect(() => parse(NewPet, input, 'body')).toThrow(
      'name must not be empty; categoryId must be an integer in the range of int64; ' +
        'status must be one of available, pending, sold',
    );
  });
});

test('only a cursor alone is an invalid cursor', () => {
  const codeOf = (query: object) => {
    try {
      return parse(PageQuery, query, 'query');
    } catch (error) {
      return (error as RequestRefused).code;
    }
  };
  expect([
    codeOf({ cursor: 'x' }),
    codeOf({ cursor: [CURSOR, CURSOR] }),
    codeOf({ cursor: 'x', limit: '0' }),
    codeOf({ limit: '0' }),
    codeOf({ cursor: CURSOR }),
  ]).toStrictEqual([
    'INVALID_CURSOR',
    'INVALID_CURSOR',
    'INVALID_ARGUMENT',
    'INVALID_ARGUMENT',
    { limit: 20, cursor: CURSOR },
  ]);
});
