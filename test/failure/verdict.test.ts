import { describe, expect, it } from 'vitest';
import type { Create, Outcome } from './history.ts';
import { type StoredPet, verdict } from './verdict.ts';

const json = (id: number, name: string) => `{"id":${id},"name":"${name}","categoryId":7,"status":"sold"}`;
const pet = (id: number, name: string): StoredPet => ({ name, json: json(id, name) });
const create = (name: string, outcome: Outcome, id?: number): Create => ({
  key: name,
  name,
  body: '',
  begun: 0,
  ended: 1,
  attempts: [],
  outcome,
  ...(id !== undefined && { answer: json(id, name) }),
});

const CREATES = [
  create('a', 'acknowledged', 1),
  create('b', 'acknowledged', 2),
  create('c', 'unknown'),
  create('d', 'unknown'),
  create('e', 'refused'),
];
const GOOD = [pet(1, 'a'), pet(2, 'b'), pet(4, 'd')];

const judge = (creates: readonly Create[], ...places: readonly (readonly StoredPet[])[]) => {
  const { examples, ...counts } = verdict(creates, new Map(places.map((pets, index) => [`${index}`, pets])));
  return { ...counts, explained: examples.length > 0 };
};
const CLEAN = { lost: 0, duplicates: 0, idsTwice: 0, unrequested: 0, unknownFound: 1, explained: false };

describe('the verdict', () => {
  it('accepts pets as acknowledged, and counts an unknown outcome as neither right nor wrong', () => {
    expect(judge(CREATES, GOOD, GOOD)).toStrictEqual(CLEAN);
  });

  it.each([
    { what: 'a lost pet', stored: [pet(1, 'a')], finds: { lost: 1, unknownFound: 0 } },
    { what: 'another id', stored: [pet(1, 'a'), pet(3, 'b'), pet(4, 'd')], finds: { lost: 1 } },
    {
      what: 'another byte',
      stored: [pet(1, 'a'), { name: 'b', json: json(2, 'b').replace('7', '8') }, pet(4, 'd')],
      finds: { lost: 1 },
    },
    { what: 'two pets for an acknowledged key', stored: [...GOOD, pet(5, 'a')], finds: { duplicates: 1 } },
    { what: 'two pets for an unknown key', stored: [...GOOD, pet(5, 'd')], finds: { duplicates: 1 } },
    { what: 'an id for two pets', stored: [...GOOD, pet(2, 'c')], finds: { idsTwice: 1, unknownFound: 2 } },
    { what: 'a pet that was refused', stored: [...GOOD, pet(5, 'e')], finds: { unrequested: 1 } },
    { what: 'a pet that no client asked for', stored: [...GOOD, pet(5, 'x')], finds: { unrequested: 1 } },
  ])('finds $what, even in one place only', ({ stored, finds }) => {
    const expected = { ...CLEAN, explained: true, ...finds, unknownFound: finds.unknownFound ?? 1 };
    expect(judge(CREATES, stored)).toStrictEqual(expected);
    expect(judge(CREATES, GOOD, stored)).toStrictEqual({
      ...expected,
      unknownFound: Math.max(1, expected.unknownFound),
    });
  });

  it('finds an id that was acknowledged twice and stored once', () => {
    const twice = [create('a', 'acknowledged', 1), create('b', 'acknowledged', 1)];
    expect(judge(twice, [pet(1, 'a')])).toMatchObject({ idsTwice: 1, lost: 1 });
  });

  it('counts an acknowledgement that is not a pet as lost', () => {
    expect(judge([{ ...create('a', 'acknowledged'), answer: '{"id":' }], [pet(1, 'a')])).toMatchObject({
      lost: 1,
    });
  });
});
