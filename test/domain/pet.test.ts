import { expect, it } from 'vitest';
import {
  importedIdProblem,
  INT64_MAX,
  INT64_MIN,
  InvalidPet,
  isInt64,
  MAX_PET_ID,
  newPet,
  type NewPet,
  type PetDraft,
  petIdsLeft,
  petIdsWarning,
  petProblems,
  petWithId,
} from '../../src/domain/pet.ts';

const draft = { name: 'Rex', categoryId: 7n, status: 'sold' } as const;

it('a new pet is available when the draft has no status', () => {
  const { status: _, ...without } = draft;
  expect(newPet(without).status).toBe('available');
  expect(newPet({ ...draft, status: undefined }).status).toBe('available');
});

it.each([INT64_MIN, -1n, 0n, 9007199254740993n, INT64_MAX])(
  'a new pet keeps its name and the category %d verbatim, and ignores other fields of the draft',
  (categoryId) => {
    const fields = { ...draft, name: '  e\u0301 \u00e9\ufb01 ', categoryId };
    const more = { ...fields, id: 1n, owner: 'me' };
    expect(newPet(more)).toStrictEqual(fields);
  },
);

it('a new pet is frozen', () => {
  expect(Object.isFrozen(newPet(draft))).toBe(true);
});

const CATEGORY = 'must be an integer in the range of int64';
const STATUS = 'must be one of available, pending, sold';

it.each(['Sold', 'SOLD', '', 'toString', null])('a draft is rejected for the status %j', (status) => {
  // A value from outside the program may not have the type.
  const invalid = { ...draft, status } as PetDraft;
  expect(() => newPet(invalid)).toThrow(new InvalidPet([`status ${STATUS}`]));
});

it('a draft is rejected with all of its problems in one message', () => {
  const invalid = { name: '', categoryId: 2n ** 63n, status: 'lost' } as unknown as PetDraft;
  expect(() => newPet(invalid)).toThrow(
    expect.objectContaining({
      kind: 'invalid-pet',
      message: `name must not be empty; categoryId ${CATEGORY}; status ${STATUS}`,
    }),
  );
});

const NAME = 'name must be a string';
const INT64 = `categoryId ${CATEGORY}`;

it.each([
  ['when they are numbers', { name: 7, categoryId: 7 }, [NAME, INT64]],
  ['when they are missing', {}, [NAME, INT64]],
  ['when they are arrays of one valid value', { name: ['Rex'], categoryId: [7n] }, [NAME, INT64]],
  ['when they are digits', { name: '7', categoryId: '7' }, [INT64]],
  ['when they are valid', draft, []],
])('the fields of a stored record are checked %s', (_what, fields, problems) => {
  expect(petProblems({ status: 'sold', ...fields })).toStrictEqual(problems);
});

it('a stored pet is frozen, and has its id and the fields of the new pet, and no others', () => {
  const pet = petWithId(MAX_PET_ID, { ...newPet(draft), op: 'a token', id: 2n } as NewPet);
  expect(pet).toStrictEqual({ id: 9007199254740991n, ...draft });
  expect(Object.isFrozen(pet)).toBe(true);
});

it.each([
  [0n, MAX_PET_ID, undefined],
  [MAX_PET_ID - 10n ** 12n, 10n ** 12n, undefined],
  [MAX_PET_ID - 10n ** 12n + 1n, 10n ** 12n - 1n, 'fewer than 1000000000000 ids are left for new pets'],
  [MAX_PET_ID, 0n, 'fewer than 1000000000000 ids are left for new pets'],
  [MAX_PET_ID + 1n, 0n, 'fewer than 1000000000000 ids are left for new pets'],
])('after the id %d, %d ids are left', (lastId, left, warning) => {
  expect([petIdsLeft(lastId), petIdsWarning(lastId)]).toStrictEqual([left, warning]);
});

it('the ids of imported pets leave 10^15 ids for new pets', () => {
  const problem =
    'the id 8007199254740992 is greater than 8007199254740991, which would leave too few ids for new pets';
  expect([8007199254740991n, 8007199254740992n].map(importedIdProblem)).toStrictEqual([undefined, problem]);
});

it('an int64 has the range of a signed 64-bit integer', () => {
  expect([INT64_MIN, INT64_MAX]).toStrictEqual([-9223372036854775808n, 9223372036854775807n]);
  const values = [INT64_MIN - 1n, INT64_MIN, 0n, INT64_MAX, INT64_MAX + 1n, 2n ** 64n - 1n];
  expect(values.map(isInt64)).toStrictEqual([false, true, true, true, false, false]);
});
