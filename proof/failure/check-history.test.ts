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
  const answer = { status: 200, after: 0, limit: 100, more: false } as const;
  return { type: 'page', ...requestFields(beginMs), ...answer, pets, ...fields };
}
const survey = (beginMs: number, ...pets: string[]): Survey => {
  return { type: 'survey', place: 'the file', beginMs, endMs: beginMs + 5, pets };
};
const keyChange = (type: KeyChange['type'], beginMs: number): KeyChange => {
  return { type, apiKey: 'k', beginMs, endMs: beginMs + 5, outcome: 'acknowledged' };
};
const KEY_CREATED = keyChange('key created', 0);
const KEY_REVOKED = keyChange('key revoked', 100);
const getWithKey = (beginMs: number, status: number): Get => ({
  ...(status === 404 ? get(9, beginMs) : get(1, beginMs, 'a')),
  apiKey: 'k',
  status,
});

const [A, B, D, E] = [petJson(1, 'a'), petJson(2, 'b'), petJson(4, 'd', 'pending'), petJson(5, 'e')] as const;
const ALL_PETS = [A, B, D, E];

/** A short history in which everything is right, until time 200. Further calls can make it wrong. */
const GOOD_CALLS: readonly Call[] = [
  create('a', 0, 1),
  create('b', 10, 2),
  create('unknown', 10),
  create('d', 20, 4, { beginMs: 15, content: contentOf('d', 'pending'), answer: D }),
  // Alone, because its connection was refused at first.
  create('e', 30, undefined, { outcome: 'refused' }),
  create('e', 40, 5),
  create('refused', 40, undefined, { outcome: 'refused', status: 422 }),
  // It overlaps the create: both answers are right.
  get(5, 41),
  get(5, 42, 'e'),
  get(9, 60),
  page(20, [A, B]),
  page(60, [A, B], { limit: 2, hasNext: true }),
  page(66, [D, E], { after: 2 }),
  page(70, [D], { filter: 'pending' }),
  page(70, [], { filter: 'available' }),
  page(75, [], { after: 5 }),
  survey(100, ...ALL_PETS),
  create('a', 110, 1, { replayed: true }),
];
const rulesOf = (...calls: readonly Call[]) => {
  return [...new Set(checkHistory({ calls: [...GOOD_CALLS, ...calls] }).violations.map(({ rule }) => rule))];
};

describe('the check of a history', () => {
  it('accepts what is right, and counts an unknown outcome as neither right nor wrong', () => {
    expect(checkHistory({ calls: GOOD_CALLS })).toStrictEqual({ violations: [], unknownFound: 0 });
    const pageWithUnknown = page(200, [A, B, petJson(3, 'unknown'), D, E]);
    expect(checkHistory({ calls: [...GOOD_CALLS, pageWithUnknown] })).toStrictEqual({
      violations: [],
      unknownFound: 1,
    });
    // Its request may have taken effect after the survey.
    expect(rulesOf(pageWithUnknown, survey(190, ...ALL_PETS))).toStrictEqual([]);
  });

  const answerOfA: Partial<Create> = { idempotencyKey: 'key of a', outcome: 'acknowledged', answer: A };
  const longCreate = create('f', 190, 6, { endMs: 300 });
  const firstPage = page(200, [A], { limit: 1, hasNext: true });
  const replayOf6 = create('f', 190, 6, { replayed: true });
  const longRead = get(6, 190, 'unknown', { endMs: 300 });
  const pageWith6 = page(200, [...ALL_PETS, petJson(6, 'unknown')]);

  it.each<[fault: string, rules: readonly Rule[], ...calls: readonly Call[]]>([
    ['a lost write', ['lost'], survey(200, A, B, D)],
    ['a stale read', ['missed'], get(5, 200)],
    ['a stale read beside a longer one', ['missed'], longRead, get(6, 200, 'unknown'), get(6, 210)],
    ['a stale page', ['missed'], page(200, [A, B, D])],
    [
      'a stale page, but an older id is younger',
      ['missed'],
      longCreate,
      create('g', 200, 7),
      page(220, ALL_PETS),
    ],
    ['a pet that disappears', ['missed'], get(6, 200, 'unknown'), get(6, 206)],
    ['a pet that one page shows and the next one lacks', ['missed'], pageWith6, page(206, [], { after: 5 })],
    ['a pet skipped within a page', ['missed'], page(200, [A, D], { limit: 2, hasNext: true })],
    ['a walk that skips a pet between two pages', ['missed'], firstPage, page(206, [D, E], { after: 1 })],
    ['a walk that ends early', ['missed'], page(200, [A, B])],
    ['a pet missing under its status', ['missed'], page(200, [], { filter: 'pending' })],
    ['a walk that shows a pet twice', ['wrong page'], page(200, [B, D, E], { after: 2 })],
    ['a pet twice on a page', ['wrong page'], page(200, [A, ...ALL_PETS])],
    ['a page out of order', ['wrong page'], page(200, ALL_PETS.toReversed())],
    ['a page that is too long', ['wrong page'], page(200, ALL_PETS, { limit: 3 })],
    ['a short page before another one', ['wrong page'], page(200, ALL_PETS, { hasNext: true })],
    ['a pet of another status', ['wrong page'], page(200, [D, E], { filter: 'pending' })],
    ['a repeated id', ['id twice', 'id order'], create('f', 200, 5)],
    ['a repeated id of an unknown pet', ['id twice'], get(5, 200, 'unknown')],
    ['an id that was left free', ['id order'], create('f', 200, 3)],
    ['a second pet of an Idempotency-Key', ['second pet'], get(6, 200, 'a')],
    ['a second pet for another body', ['second pet'], create('f', 200, 6, { idempotencyKey: 'key of a' })],
    [
      'a second pet of a request without a key',
      ['second pet'],
      createWithoutKey('f', 200, 6),
      get(7, 210, 'f'),
    ],
    ['a second pet of an unknown request', ['second pet'], get(6, 200, 'unknown'), get(7, 210, 'unknown')],
    ['a replay that is not marked', ['wrong answer'], create('a', 200, 1)],
    ['a pet before the request that made it', ['wrong answer'], replayOf6, create('f', 300, 6)],
    ['a replay for another body', ['wrong answer'], create('f', 200, undefined, answerOfA)],
    ['the answer to another get', ['wrong answer'], get(1, 200, 'b', { id: 2, answer: A })],
    ['an acknowledgement that is cut off', ['wrong answer'], create('f', 200, 6, { answer: '{"id":' })],
    ['an acknowledgement without a body', ['wrong answer'], create('f', 200, 6, { answer: '' })],
    ['a pet that nobody requested', ['unrequested'], get(6, 200, 'stray')],
    ['a stray pet in the storage', ['unrequested'], survey(200, ...ALL_PETS, petJson(6, 'stray'))],
    ['a pet whose request was refused', ['unrequested'], get(6, 200, 'refused')],
    ['a pet before its request', ['unrequested'], get(6, 200, 'f'), create('f', 210, 6)],
    ['a changed byte', ['unrequested'], page(200, [A.replace('7', '8'), B, D, E])],
    [
      'a revoked key that is accepted',
      ['revoked key accepted'],
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(10_106, 200),
    ],
    [
      'a revoked key that finds no pet',
      ['revoked key accepted'],
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(10_106, 404),
    ],
    ['a valid key that is refused', ['valid key refused'], KEY_CREATED, getWithKey(6, 401)],
    [
      'a key that is refused before its end',
      ['valid key refused'],
      KEY_CREATED,
      KEY_REVOKED,
      getWithKey(50, 401),
    ],
    ['a key of the service that is refused', ['valid key refused'], { ...get(1, 0, 'a'), status: 401 }],
  ])('finds %s', (_fault, rules, ...calls) => {
    expect(rulesOf(...calls)).toStrictEqual(rules);
  });

  it('finds the fault at any time before or after the calls beside it', () => {
    const createOf6 = create('f', 200, 6);
    const pageWith6 = page(206, [...ALL_PETS, petJson(6, 'f')]);
    for (const beginMs of [190, 199, 205])
      expect(rulesOf(createOf6, pageWith6, get(6, beginMs))).toStrictEqual([]);
    expect(rulesOf(createOf6, pageWith6, get(6, 205.1))).toStrictEqual(['missed']);
  });

  it.each<[what: string, ...calls: readonly Call[]]>([
    ['ten seconds until every service refuses', KEY_CREATED, KEY_REVOKED, getWithKey(10_105, 200)],
    ['a service that is faster', KEY_CREATED, KEY_REVOKED, getWithKey(100, 401), getWithKey(20_000, 401)],
    ['a 503, which says neither', KEY_CREATED, KEY_REVOKED, getWithKey(20_000, 503)],
    ['a key that is being created', KEY_CREATED, getWithKey(3, 401)],
    ['a key that may not exist', { ...KEY_CREATED, outcome: 'unknown' }, getWithKey(20, 401)],
    [
      'a revocation that may not have happened',
      { ...KEY_REVOKED, outcome: 'unknown' },
      getWithKey(20_000, 200),
    ],
  ])('accepts, of keys, %s', (_what, ...calls) => {
    expect(rulesOf(...calls)).toStrictEqual([]);
  });
});
