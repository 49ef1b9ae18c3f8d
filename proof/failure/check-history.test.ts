import { describe, expect, it } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { Call, Create, Get, KeyChange, Page, Survey } from './history.ts';
import type { Rule } from './violation.ts';

const URL = 'http://127.0.0.1/v1/pets';
/** The JSON of a pet after its id, as a `Create` has it in `content`. The id is not known before the answer. */
const contentOf = (name: string, status = 'sold') => `"name":"${name}","categoryId":7,"status":"${status}"}`;
const petJson = (id: number, name: string, status?: string) => `{"id":${id},${contentOf(name, status)}`;
/** The fields that all requests have. Each request lasts 5 ms. */
const request = (beginMs: number) => ({ url: URL, beginMs, endMs: beginMs + 5, outcome: 'unknown' as const });

/** A request to add a pet. With an id it is acknowledged, and without an id its outcome is unknown. */
function create(name: string, beginMs: number, id?: number, fields: Partial<Create> = {}): Create {
  const answer = id === undefined ? {} : { status: 201, answer: petJson(id, name) };
  const content = contentOf(name);
  const call = { type: 'create', ...request(beginMs), content, body: `{${content}` } as const;
  const outcome = id === undefined ? 'unknown' : 'acknowledged';
  return { ...call, outcome, idempotencyKey: `key of ${name}`, ...answer, ...fields };
}
function createWithoutKey(name: string, beginMs: number, id: number): Create {
  const { idempotencyKey: _, ...call } = create(name, beginMs, id);
  return call;
}
/** A read of one pet. With a name the answer is a pet, and without a name it is 404. */
function get(id: number, beginMs: number, name?: string, fields: Partial<Get> = {}): Get {
  const answer = name === undefined ? { status: 404 } : { status: 200, answer: petJson(id, name) };
  return { type: 'get', ...request(beginMs), id, ...answer, ...fields };
}
function page(beginMs: number, pets: readonly string[], fields: Partial<Page> = {}): Page {
  const answer = { status: 200, after: 0, limit: 100, hasNext: false } as const;
  return { type: 'page', ...request(beginMs), ...answer, pets, ...fields };
}
const survey = (beginMs: number, ...pets: string[]): Survey => {
  return { type: 'survey', place: 'the file', beginMs, endMs: beginMs + 5, pets };
};
const keyChange = (type: KeyChange['type'], beginMs: number): KeyChange => {
  return { type, apiKey: 'k', beginMs, endMs: beginMs + 5, outcome: 'acknowledged' };
};
/** The creation and the revocation of the API key that {@link useKey} uses. */
const CREATED = keyChange('key created', 0);
const REVOKED = keyChange('key revoked', 100);
/** A read with the API key. Its status shows whether the service accepted the key. */
const useKey = (beginMs: number, status: number): Get => ({
  ...(status === 404 ? get(9, beginMs) : get(1, beginMs, 'a')),
  apiKey: 'k',
  status,
});

/** The JSON of the pets "a", "b", "d" and "e". The id 3 stays free for the pet "unknown" without an answer. */
const [A, B, D, E] = [petJson(1, 'a'), petJson(2, 'b'), petJson(4, 'd', 'pending'), petJson(5, 'e')] as const;
const ALL = [A, B, D, E];

/** A correct history, which ends before the time 200. The tests add calls to it. */
const GOOD_CALLS: readonly Call[] = [
  create('a', 0, 1),
  create('b', 10, 2),
  create('unknown', 10),
  create('d', 20, 4, { beginMs: 15, content: contentOf('d', 'pending'), answer: D }),
  // The connection for this request was refused, so the client sends it again.
  create('e', 30, undefined, { outcome: 'refused' }),
  create('e', 40, 5),
  create('refused', 40, undefined, { outcome: 'refused', status: 422 }),
  // These two gets overlap the create of the pet 5 (40 to 45 ms), so both the answer 404 and the answer 200 are right.
  get(5, 41),
  get(5, 42, 'e'),
  get(9, 60),
  page(20, [A, B]),
  page(60, [A, B], { limit: 2, hasNext: true }),
  page(66, [D, E], { after: 2 }),
  page(70, [D], { filter: 'pending' }),
  page(70, [], { filter: 'available' }),
  page(75, [], { after: 5 }),
  survey(100, ...ALL),
  create('a', 110, 1, { replayed: true }),
];
const checkWith = (...calls: readonly Call[]) => checkHistory({ calls: [...GOOD_CALLS, ...calls] });
/** The rules that the correct history violates when these calls are added. */
const rulesOf = (...calls: Call[]) => [...new Set(checkWith(...calls).violations.map(({ rule }) => rule))];

describe('the check of a history', () => {
  it('reports no violation in a correct history, and counts the pets that were never acknowledged but shown', () => {
    expect(checkWith()).toStrictEqual({ violations: [], foundUnknownCount: 0 });
    const pageWithUnknown = page(200, [A, B, petJson(3, 'unknown'), D, E]);
    expect(checkWith(pageWithUnknown)).toStrictEqual({ violations: [], foundUnknownCount: 1 });
    // The survey does not show the pet 3, whose request may have taken effect after the survey.
    expect(rulesOf(pageWithUnknown, survey(190, ...ALL))).toStrictEqual([]);
  });

  const answerOfA: Partial<Create> = { idempotencyKey: 'key of a', outcome: 'acknowledged', answer: A };
  // `longPost` and `longGet` begin before the other calls of their rows and end after them.
  const longPost = create('f', 190, 6, { endMs: 300 });
  const firstPage = page(200, [A], { limit: 1, hasNext: true });
  const replayOf6 = create('f', 190, 6, { replayed: true });
  const longGet = get(6, 190, 'unknown', { endMs: 300 });
  const pageWith6 = page(200, [...ALL, petJson(6, 'unknown')]);

  it.each<[fault: string, rules: readonly Rule[], ...calls: readonly Call[]]>([
    ['an acknowledged pet that the storage lacks', ['lost'], survey(200, A, B, D)],
    ['a get that does not find an acknowledged pet', ['missed'], get(5, 200)],
    ['a get that misses a pet during a long get', ['missed'], longGet, get(6, 200, 'unknown'), get(6, 210)],
    ['a page that lacks an acknowledged pet', ['missed'], page(200, [A, B, D])],
    ['a page without a pet during a long POST', ['missed'], longPost, create('g', 200, 7), page(220, ALL)],
    ['a pet that one get shows and the next get misses', ['missed'], get(6, 200, 'unknown'), get(6, 206)],
    ['a pet that one page shows and a later page lacks', ['missed'], pageWith6, page(206, [], { after: 5 })],
    ['a page that skips a pet', ['missed'], page(200, [A, D], { limit: 2, hasNext: true })],
    ['two pages that skip the pet between them', ['missed'], firstPage, page(206, [D, E], { after: 1 })],
    ['a last page that lacks the last pets', ['missed'], page(200, [A, B])],
    ['a page filtered by status that lacks a pet', ['missed'], page(200, [], { filter: 'pending' })],
    ['a page that repeats a pet of the page before', ['wrong page'], page(200, [B, D, E], { after: 2 })],
    ['a page that shows a pet twice', ['wrong page'], page(200, [A, ...ALL])],
    ['a page whose pets are not in the order of their ids', ['wrong page'], page(200, ALL.toReversed())],
    ['a page with more pets than its limit', ['wrong page'], page(200, ALL, { limit: 3 })],
    ['a page that has a next page and too few pets', ['wrong page'], page(200, ALL, { hasNext: true })],
    ['a page that shows a pet of a wrong status', ['wrong page'], page(200, [D, E], { filter: 'pending' })],
    ['an id that is assigned to two acknowledged pets', ['id twice', 'id order'], create('f', 200, 5)],
    ['a get that shows another pet with a known id', ['id twice'], get(5, 200, 'unknown')],
    ['a new pet whose id is less than an id that was shown before', ['id order'], create('f', 200, 3)],
    ['an acknowledged pet that is shown with a second id', ['second pet'], get(6, 200, 'a')],
    ['two pets of one Idempotency-Key', ['second pet'], create('f', 200, 6, { idempotencyKey: 'key of a' })],
    ['two pets of a request without a key', ['second pet'], createWithoutKey('f', 200, 6), get(7, 210, 'f')],
    ['two pets of an unanswered request', ['second pet'], get(6, 200, 'unknown'), get(7, 210, 'unknown')],
    ['a repeated request whose answer is not marked as replayed', ['wrong answer'], create('a', 200, 1)],
    ['a replay before the first request for its pet', ['wrong answer'], replayOf6, create('f', 300, 6)],
    ['a reply with the pet of another request', ['wrong answer'], create('f', 200, undefined, answerOfA)],
    ['a get that shows the pet of another id', ['wrong answer'], get(1, 200, 'b', { id: 2, answer: A })],
    ['an acknowledgement whose body is cut off', ['wrong answer'], create('f', 200, 6, { answer: '{"id":' })],
    ['an acknowledgement without a body', ['wrong answer'], create('f', 200, 6, { answer: '' })],
    ['a pet that no client requested', ['unrequested'], get(6, 200, 'stray')],
    ['a stored pet that no client requested', ['unrequested'], survey(200, ...ALL, petJson(6, 'stray'))],
    ['a pet whose request was refused', ['unrequested'], get(6, 200, 'refused')],
    ['a pet that is shown before its request begins', ['unrequested'], get(6, 200, 'f'), create('f', 210, 6)],
    ['a page with a changed byte', ['unrequested'], page(200, [A.replace('7', '8'), B, D, E])],
    ['a revoked key that is accepted', ['revoked key accepted'], CREATED, REVOKED, useKey(10_106, 200)],
    ['a revoked key that receives a 404', ['revoked key accepted'], CREATED, REVOKED, useKey(10_106, 404)],
    ['a valid key that is refused', ['valid key refused'], CREATED, useKey(6, 401)],
    ['an early refusal of a revoked key', ['valid key refused'], CREATED, REVOKED, useKey(50, 401)],
    ['a refusal of the key in API_KEYS', ['valid key refused'], { ...get(1, 0, 'a'), status: 401 }],
  ])('finds %s', (_fault, rules, ...calls) => {
    expect(rulesOf(...calls)).toStrictEqual(rules);
  });

  it('allows a get to miss a pet until the create of the pet has ended', () => {
    const calls = [create('f', 200, 6), page(206, [...ALL, petJson(6, 'f')])];
    for (const beginMs of [190, 199, 205]) expect(rulesOf(...calls, get(6, beginMs))).toStrictEqual([]);
    expect(rulesOf(...calls, get(6, 205.1))).toStrictEqual(['missed']);
  });

  it.each<[situation: string, ...calls: readonly Call[]]>([
    ['a key is accepted until ten seconds after its revocation', CREATED, REVOKED, useKey(10_105, 200)],
    ['a key is refused when its revocation begins', CREATED, REVOKED, useKey(100, 401), useKey(20_000, 401)],
    ['a request with a revoked key is answered with 503', CREATED, REVOKED, useKey(20_000, 503)],
    ['a key is refused while it is created', CREATED, useKey(3, 401)],
    ['the creation of a refused key may have failed', { ...CREATED, outcome: 'unknown' }, useKey(20, 401)],
    ['the revocation of a used key may have failed', { ...REVOKED, outcome: 'unknown' }, useKey(20_000, 200)],
  ])('reports no violation when %s', (_situation, ...calls) => {
    expect(rulesOf(...calls)).toStrictEqual([]);
  });
});
