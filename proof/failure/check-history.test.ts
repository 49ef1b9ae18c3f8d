import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { Call, Create, Get, KeyChange, Page, Survey } from './history.ts';
import type { Rule } from './violation.ts';

const URL = 'http://127.0.0.1/v1/pets';
const contentOf = (name: string, status = 'sold') => `"name":"${name}","categoryId":7,"status":"${status}"}`;
const petJson = (id: number, name: string, status?: string) => `{"id":${id},${contentOf(name, status)}`;
const requestFields = (beginMs: number) => ({
  url: URL,
  beginMs,
  endMs: beginMs + 5,
  outcome: 'unknown' as const,
});

function create(name: string, beginMs: number, id?: number, fields: Partial<Create> = {}): Create {
  const answer = id === undefined ? {} : { status: 201, answer: petJson(id, name) };
  const call = {
    type: 'create',
    ...requestFields(beginMs),
    content: contentOf(name),
    body: `{${contentOf(name)}`,
  } as const;
  const outcome = id === undefined ? 'unknown' : 'acknowledged';
  return { ...call, outcome, idempotencyKey: `key of ${name}`, ...answer, ...fields };
}
function createWithoutKey(name: string, beginMs: number, id: number): Create {
  const { idempotencyKey: _, ...call } = create(name, beginMs, id);
  return call;
}
function get(id: number, beginMs: number, name?: string, fields: Partial<Get> = {}): Get {
  const answer = name === undefined ? { status: 404 } : { status: 200, answer: petJson(id, name) };
  return { type: 'get', ...requestFields(beginMs), id, ...answer, ...fields };
}
function page(beginMs: number, pets: readonly string[], fields: Partial<Page> = {}): Page {
  const answer = { status: 200, after: 0, limit: 100, hasNext: false } as const;
  return { type: 'page', ...requestFields(beginMs), ...answer, pets, ...fields };
}
const survey = (beginMs: number, ...pets: string[]): Survey => {
  return { type: 'survey', place: 'the file', beginMs, endMs: beginMs + 5, pets };
};
const keyChange = (type: KeyChange['type'], beginMs: number): KeyChange => {
  return { type, apiKey: 'k', beginMs, endMs: beginMs + 5, outcome: 'acknowledged' };
};
/** The creation and the revocation of the API key of {@link getWithKey}. */
const KEY_CREATED = keyChange('key created', 0);
const KEY_REVOKED = keyChange('key revoked', 100);
const getWithKey = (beginMs: number, status: number): Get => ({
  ...(status === 404 ? get(9, beginMs) : get(1, beginMs, 'a')),
  apiKey: 'k',
  status,
});

/** The JSON of four pets. The id 3 is for the pet of a request that is never answered. */
const [PET_1, PET_2, PET_4, PET_5] = [
  petJson(1, 'a'),
  petJson(2, 'b'),
  petJson(4, 'd', 'pending'),
  petJson(5, 'e'),
] as const;
const ALL_PETS = [PET_1, PET_2, PET_4, PET_5];

/** A correct history, which ends before the time 200. The tests add calls to it. */
const GOOD_CALLS: readonly Call[] = [
  create('a', 0, 1),
  create('b', 10, 2),
  create('unknown', 10),
  create('d', 20, 4, { beginMs: 15, content: contentOf('d', 'pending'), answer: PET_4 }),
  // The connection for this request was refused, so the client sends it again.
  create('e', 30, undefined, { outcome: 'refused' }),
  create('e', 40, 5),
  create('refused', 40, undefined, { outcome: 'refused', status: 422 }),
  // Both gets overlap the create of the pet 5, so 404 and 200 are both right.
  get(5, 41),
  get(5, 42, 'e'),
  get(9, 60),
  page(20, [PET_1, PET_2]),
  page(60, [PET_1, PET_2], { limit: 2, hasNext: true }),
  page(66, [PET_4, PET_5], { after: 2 }),
  page(70, [PET_4], { filter: 'pending' }),
  page(70, [], { filter: 'available' }),
  page(75, [], { after: 5 }),
  survey(100, ...ALL_PETS),
  create('a', 110, 1, { replayed: true }),
];
const rulesOf = (...calls: readonly Call[]) => {
  return [...new Set(checkHistory({ calls: [...GOOD_CALLS, ...calls] }).violations.map(({ rule }) => rule))];
};

describe('the check of a history', () => {
  it('reports no violation in a correct history, and counts the pets that were shown but never acknowledged', () => {
    expect(checkHistory({ calls: GOOD_CALLS })).toStrictEqual({ violations: [], foundUnknownCount: 0 });
    const pageWithUnknown = page(200, [PET_1, PET_2, petJson(3, 'unknown'), PET_4, PET_5]);
    expect(checkHistory({ calls: [...GOOD_CALLS, pageWithUnknown] })).toStrictEqual({
      violations: [],
      foundUnknownCount: 1,
    });
    // The survey does not show the pet 3, whose request may have taken effect after the survey.
    expect(rulesOf(pageWithUnknown, survey(190, ...ALL_PETS))).toStrictEqual([]);
  });

  const answerOfA: Partial<Create> = { idempotencyKey: 'key of a', outcome: 'acknowledged', answer: PET_1 };
  const longCreate = create('f', 190, 6, { endMs: 300 });
  const firstPage = page(200, [PET_1], { limit: 1, hasNext: true });
  const replayOf6 = create('f', 190, 6, { replayed: true });
  const longRead = get(6, 190, 'unknown', { endMs: 300 });
  const pageWith6 = page(200, [...ALL_PETS, petJson(6, 'unknown')]);

  it.each<[fault: string, rules: readonly Rule[], ...calls: readonly Call[]]>([
    ['an acknowledged pet that the storage lacks', ['lost'], survey(200, PET_1, PET_2, PET_4)],
    ['a get that does not find an acknowledged pet', ['missed'], get(5, 200)],
    [
      'a get that does not find a pet, although an earlier get found it while a longer get ran',
      ['missed'],
      longRead,
      get(6, 200, 'unknown'),
      get(6, 210),
    ],
    ['a page that lacks an acknowledged pet', ['missed'], page(200, [PET_1, PET_2, PET_4])],
    [
      'a page that lacks an acknowledged pet, while the create of a lower id has not ended',
      ['missed'],
      longCreate,
      create('g', 200, 7),
      page(220, ALL_PETS),
    ],
    [
      'a pet that one get shows and the next get does not find',
      ['missed'],
      get(6, 200, 'unknown'),
      get(6, 206),
    ],
    ['a pet that one page shows and a later page lacks', ['missed'], pageWith6, page(206, [], { after: 5 })],
    ['a page that skips a pet', ['missed'], page(200, [PET_1, PET_4], { limit: 2, hasNext: true })],
    [
      'two pages that skip the pet between them',
      ['missed'],
      firstPage,
      page(206, [PET_4, PET_5], { after: 1 }),
    ],
    ['a last page that lacks the last pets', ['missed'], page(200, [PET_1, PET_2])],
    [
      'a page of one status that lacks a pet of this status',
      ['missed'],
      page(200, [], { filter: 'pending' }),
    ],
    [
      'a page that repeats the last pet of the page before',
      ['wrong page'],
      page(200, [PET_2, PET_4, PET_5], { after: 2 }),
    ],
    ['a page that shows a pet twice', ['wrong page'], page(200, [PET_1, ...ALL_PETS])],
    ['a page whose pets are not in the order of their ids', ['wrong page'], page(200, ALL_PETS.toReversed())],
    ['a page with more pets than its limit', ['wrong page'], page(200, ALL_PETS, { limit: 3 })],
    [
      'a page that has a next page and fewer pets than its limit',
      ['wrong page'],
      page(200, ALL_PETS, { hasNext: true }),
    ],
    [
      'a page of one status that shows a pet of another status',
      ['wrong page'],
      page(200, [PET_4, PET_5], { filter: 'pending' }),
    ],
    ['an id that is assigned to two acknowledged pets', ['id twice', 'id order'], create('f', 200, 5)],
    ['an acknowledged id with which a get shows another pet', ['id twice'], get(5, 200, 'unknown')],
    ['a new pet whose id is less than an id that was shown before', ['id order'], create('f', 200, 3)],
    ['an acknowledged pet that is shown with a second id', ['second pet'], get(6, 200, 'a')],
    [
      'an Idempotency-Key that adds two different pets',
      ['second pet'],
      create('f', 200, 6, { idempotencyKey: 'key of a' }),
    ],
    [
      'a request without an Idempotency-Key that adds two pets',
      ['second pet'],
      createWithoutKey('f', 200, 6),
      get(7, 210, 'f'),
    ],
    [
      'an unanswered request that adds two pets',
      ['second pet'],
      get(6, 200, 'unknown'),
      get(7, 210, 'unknown'),
    ],
    ['a repeated request whose answer is not marked as replayed', ['wrong answer'], create('a', 200, 1)],
    [
      'a replayed answer before the request that adds the pet',
      ['wrong answer'],
      replayOf6,
      create('f', 300, 6),
    ],
    [
      'an Idempotency-Key with a new body that is answered with the pet of the old body',
      ['wrong answer'],
      create('f', 200, undefined, answerOfA),
    ],
    [
      'a get that is answered with the pet of another id',
      ['wrong answer'],
      get(1, 200, 'b', { id: 2, answer: PET_1 }),
    ],
    ['an acknowledgement whose body is cut off', ['wrong answer'], create('f', 200, 6, { answer: '{"id":' })],
    ['an acknowledgement without a body', ['wrong answer'], create('f', 200, 6, { answer: '' })],
    ['a pet that no client requested', ['unrequested'], get(6, 200, 'stray')],
    [
      'a pet in the storage that no client requested',
      ['unrequested'],
      survey(200, ...ALL_PETS, petJson(6, 'stray')),
    ],
    ['a pet whose request was refused', ['unrequested'], get(6, 200, 'refused')],
    ['a pet that is shown before its request begins', ['unrequested'], get(6, 200, 'f'), create('f', 210, 6)],
    [
      'a page that shows a pet with a changed byte',
      ['unrequested'],
      page(200, [PET_1.replace('7', '8'), PET_2, PET_4, PET_5]),
    ],
    [
      'a revoked API key that is accepted',
      ['revoked key accepted'],
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(10_106, 200),
    ],
    [
      'a revoked API key whose get is answered with 404',
      ['revoked key accepted'],
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(10_106, 404),
    ],
    ['a valid API key that is refused', ['valid key refused'], KEY_CREATED, getWithKey(6, 401)],
    [
      'an API key that is refused before its revocation',
      ['valid key refused'],
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(50, 401),
    ],
    ['a refusal of the key in API_KEYS', ['valid key refused'], { ...get(1, 0, 'a'), status: 401 }],
  ])('finds %s', (_fault, rules, ...calls) => {
    expect(rulesOf(...calls)).toStrictEqual(rules);
  });

  it('finds a get that misses a pet only if the get begins after the create of the pet has ended', () => {
    const createOf6 = create('f', 200, 6);
    const pageAfterCreate = page(206, [...ALL_PETS, petJson(6, 'f')]);
    for (const beginMs of [190, 199, 205])
      expect(rulesOf(createOf6, pageAfterCreate, get(6, beginMs))).toStrictEqual([]);
    expect(rulesOf(createOf6, pageAfterCreate, get(6, 205.1))).toStrictEqual(['missed']);
  });

  it.each<[situation: string, ...calls: readonly Call[]]>([
    [
      'an API key is accepted until ten seconds after its revocation',
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(10_105, 200),
    ],
    [
      'an API key is refused as soon as its revocation begins',
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(100, 401),
      getWithKey(20_000, 401),
    ],
    [
      'a request with a revoked API key is answered with 503',
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(20_000, 503),
    ],
    ['an API key is refused while it is created', KEY_CREATED, getWithKey(3, 401)],
    [
      'an API key is refused and the outcome of its creation is unknown',
      { ...KEY_CREATED, outcome: 'unknown' },
      getWithKey(20, 401),
    ],
    [
      'an API key is accepted and the outcome of its revocation is unknown',
      { ...KEY_REVOKED, outcome: 'unknown' },
      getWithKey(20_000, 200),
    ],
  ])('reports no violation when %s', (_situation, ...calls) => {
    expect(rulesOf(...calls)).toStrictEqual([]);
  });
});
