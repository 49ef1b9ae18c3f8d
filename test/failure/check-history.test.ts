import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkHistory, type Rule } from './check-history.ts';
import type { Call, Create, Get, KeyChange, Page, Survey } from './history.ts';
import { isLinearizable } from './search-orders.ts';

const URL = 'http://127.0.0.1/v1/pets';
const content = (name: string, status = 'sold') => `"name":"${name}","categoryId":7,"status":"${status}"}`;
const json = (id: number, name: string, status?: string) => `{"id":${id},${content(name, status)}`;
const sent = (begun: number, ended = begun + 5) => ({ url: URL, begun, ended, outcome: 'unknown' as const });

function createWithoutKey(name: string, begun: number, id?: number): Create {
  const acknowledged =
    id === undefined ? {} : ({ outcome: 'acknowledged', status: 201, answer: json(id, name) } as const);
  const body = `{${content(name)}`;
  return { type: 'create', ...sent(begun), content: content(name), body, ...acknowledged };
}
function create(name: string, begun: number, id?: number, rest: Partial<Create> = {}): Create {
  return { ...createWithoutKey(name, begun, id), key: `key of ${name}`, ...rest };
}
function get(id: number, begun: number, name?: string, rest: Partial<Get> = {}): Get {
  const found = name === undefined ? { status: 404 } : { status: 200, answer: json(id, name) };
  return { type: 'get', ...sent(begun), id, ...found, ...rest };
}
function page(begun: number, pets: readonly string[], rest: Partial<Page> = {}): Page {
  return {
    type: 'page',
    ...sent(begun),
    status: 200,
    walk: 0,
    after: 0,
    limit: 100,
    pets,
    more: false,
    ...rest,
  };
}
const survey = (begun: number, ...pets: string[]): Survey => {
  return { type: 'survey', place: 'the file', begun, ended: begun + 5, pets };
};
const key = (type: KeyChange['type'], begun: number): KeyChange => {
  return { type, apiKey: 'k', begun, ended: begun + 5, outcome: 'acknowledged' };
};
const withKey = (begun: number, status: number): Get => ({ ...get(1, begun, 'a'), apiKey: 'k', status });

/** A short history in which everything is right, until time 200. Further calls can make it wrong. */
const GOOD: readonly Call[] = [
  create('a', 0, 1),
  create('b', 10, 2),
  create('unknown', 10),
  create('d', 20, 4, { begun: 15, content: content('d', 'pending'), answer: json(4, 'd', 'pending') }),
  // Alone, because its connection was refused at first.
  create('e', 30, undefined, { outcome: 'refused' }),
  create('e', 40, 5),
  create('refused', 40, undefined, { outcome: 'refused', status: 422 }),
  // It overlaps the create: both answers are right.
  get(5, 41),
  get(5, 42, 'e'),
  get(9, 60),
  page(20, [json(1, 'a'), json(2, 'b')]),
  page(60, [json(1, 'a'), json(2, 'b')], { limit: 2, more: true }),
  page(66, [json(4, 'd', 'pending'), json(5, 'e')], { after: 2 }),
  page(70, [json(4, 'd', 'pending')], { filter: 'pending' }),
  page(70, [], { filter: 'available' }),
  page(75, [], { after: 5 }),
  survey(100, json(1, 'a'), json(2, 'b'), json(4, 'd', 'pending'), json(5, 'e')),
  create('a', 110, 1, { replayed: true }),
];
const ALL = [json(1, 'a'), json(2, 'b'), json(4, 'd', 'pending'), json(5, 'e')];
const rulesOf = (...calls: readonly Call[]) => {
  return [...new Set(checkHistory({ calls: [...GOOD, ...calls] }).violations.map(({ rule }) => rule))];
};

describe('the check of a history', () => {
  it('accepts what is right, and counts an unknown outcome as neither right nor wrong', () => {
    expect(checkHistory({ calls: GOOD })).toStrictEqual({ violations: [], unknownFound: 0 });
    const found = page(200, [json(1, 'a'), json(2, 'b'), json(3, 'unknown'), ...ALL.slice(2)]);
    expect(checkHistory({ calls: [...GOOD, found] })).toStrictEqual({ violations: [], unknownFound: 1 });
    // Its request may have taken effect after the survey.
    expect(rulesOf(found, survey(190, ...ALL))).toStrictEqual([]);
  });

  it.each<{ fault: string; calls: readonly Call[]; rules: readonly Rule[] }>([
    { fault: 'a lost write', calls: [survey(200, ...ALL.slice(0, 3))], rules: ['lost'] },
    { fault: 'a stale read', calls: [get(5, 200)], rules: ['missed'] },
    { fault: 'a stale page', calls: [page(200, ALL.slice(0, 3))], rules: ['missed'] },
    { fault: 'a pet that disappears', calls: [get(6, 200, 'unknown'), get(6, 206)], rules: ['missed'] },
    {
      fault: 'a pet that one page shows and the next one lacks',
      calls: [page(200, [...ALL, json(6, 'unknown')]), page(206, [], { after: 5 })],
      rules: ['missed'],
    },
    {
      fault: 'a pet skipped within a page',
      calls: [page(200, [ALL[0]!, ALL[2]!], { limit: 2, more: true })],
      rules: ['missed'],
    },
    {
      fault: 'a walk that skips a pet between two pages',
      calls: [page(200, ALL.slice(0, 1), { limit: 1, more: true }), page(206, ALL.slice(2), { after: 1 })],
      rules: ['missed'],
    },
    { fault: 'a walk that ends early', calls: [page(200, ALL.slice(0, 2))], rules: ['missed'] },
    {
      fault: 'a pet missing under its status',
      calls: [page(200, [], { filter: 'pending' })],
      rules: ['missed'],
    },
    {
      fault: 'a walk that shows a pet twice',
      calls: [page(200, ALL.slice(1), { after: 2 })],
      rules: ['wrong page'],
    },
    { fault: 'a pet twice on a page', calls: [page(200, [ALL[0]!, ...ALL])], rules: ['wrong page'] },
    { fault: 'a page out of order', calls: [page(200, ALL.toReversed())], rules: ['wrong page'] },
    { fault: 'a page that is too long', calls: [page(200, ALL, { limit: 3 })], rules: ['wrong page'] },
    {
      fault: 'a short page before another one',
      calls: [page(200, ALL, { more: true })],
      rules: ['wrong page'],
    },
    {
      fault: 'a pet of another status',
      calls: [page(200, ALL.slice(2), { filter: 'pending' })],
      rules: ['wrong page'],
    },
    { fault: 'a repeated id', calls: [create('f', 200, 5)], rules: ['id twice', 'id order'] },
    { fault: 'a repeated id of an unknown pet', calls: [get(5, 200, 'unknown')], rules: ['id twice'] },
    { fault: 'an id that was left free', calls: [create('f', 200, 3)], rules: ['id order'] },
    { fault: 'a second pet of an Idempotency-Key', calls: [get(6, 200, 'a')], rules: ['second pet'] },
    {
      fault: 'a second pet for another body',
      calls: [create('f', 200, 6, { key: 'key of a' })],
      rules: ['second pet'],
    },
    {
      fault: 'a second pet of a request without a key',
      calls: [createWithoutKey('f', 200, 6), get(7, 210, 'f')],
      rules: ['second pet'],
    },
    {
      fault: 'a second pet of an unknown request',
      calls: [get(6, 200, 'unknown'), get(7, 210, 'unknown')],
      rules: ['second pet'],
    },
    { fault: 'a replay that is not marked', calls: [create('a', 200, 1)], rules: ['wrong answer'] },
    {
      fault: 'a replay for another body',
      calls: [create('f', 200, undefined, { key: 'key of a', outcome: 'acknowledged', answer: ALL[0]! })],
      rules: ['wrong answer'],
    },
    {
      fault: 'the answer to another get',
      calls: [get(1, 200, 'b', { id: 2, answer: ALL[0]! })],
      rules: ['wrong answer'],
    },
    {
      fault: 'an acknowledgement that is cut off',
      calls: [create('f', 200, 6, { answer: '{"id":' })],
      rules: ['wrong answer'],
    },
    {
      fault: 'an acknowledgement without a body',
      calls: [create('f', 200, 6, { answer: '' })],
      rules: ['wrong answer'],
    },
    { fault: 'a pet that nobody requested', calls: [get(6, 200, 'stray')], rules: ['unrequested'] },
    { fault: 'a pet whose request was refused', calls: [get(6, 200, 'refused')], rules: ['unrequested'] },
    {
      fault: 'a pet before its request',
      calls: [get(6, 200, 'f'), create('f', 210, 6)],
      rules: ['unrequested'],
    },
    {
      fault: 'a changed byte',
      calls: [page(200, [ALL[0]!.replace('7', '8'), ...ALL.slice(1)])],
      rules: ['unrequested'],
    },
    {
      fault: 'a revoked key that is accepted',
      calls: [key('key created', 0), key('key revoked', 100), withKey(10_106, 200)],
      rules: ['revoked key accepted'],
    },
    {
      fault: 'a revoked key that is accepted for a request with another answer',
      calls: [key('key created', 0), key('key revoked', 100), { ...get(9, 10_106), apiKey: 'k' }],
      rules: ['revoked key accepted'],
    },
    {
      fault: 'a valid key that is refused',
      calls: [key('key created', 0), withKey(6, 401)],
      rules: ['valid key refused'],
    },
    {
      fault: 'a key of the service that is refused',
      calls: [{ ...get(1, 0, 'a'), status: 401 }],
      rules: ['valid key refused'],
    },
  ])('finds $fault', ({ calls, rules }) => {
    expect(rulesOf(...calls)).toStrictEqual(rules);
  });

  it('finds the fault at any time before or after the calls beside it', () => {
    const later = create('f', 200, 6);
    const shown = page(206, [...ALL, json(6, 'f')]);
    for (const begun of [190, 199, 205]) expect(rulesOf(later, shown, get(6, begun))).toStrictEqual([]);
    expect(rulesOf(later, shown, get(6, 205.1))).toStrictEqual(['missed']);
  });

  it('gives services ten seconds to refuse a revoked key, and accepts that some are faster', () => {
    const changes = [key('key created', 0), key('key revoked', 100)];
    expect(rulesOf(...changes, withKey(10_105, 200), withKey(100, 401), withKey(20_000, 401))).toStrictEqual(
      [],
    );
    expect(rulesOf(...changes, withKey(20_000, 503))).toStrictEqual([]);
    expect(rulesOf({ ...key('key created', 0), outcome: 'unknown' }, withKey(20, 401))).toStrictEqual([]);
    expect(rulesOf({ ...key('key revoked', 0), outcome: 'unknown' }, withKey(20_000, 200))).toStrictEqual([]);
  });
});

describe('the check, beside a search of all orders of the calls', () => {
  type Plan = {
    readonly type: 'create' | 'get' | 'page';
    readonly name: string;
    readonly id: number;
    readonly begun: number;
    readonly duration: number;
    /** When it takes effect: the share of its time in percent. */
    readonly instant: number;
    readonly outcome: 'acknowledged' | 'answer lost' | 'request lost';
  };
  const plan: fc.Arbitrary<Plan> = fc.record({
    type: fc.constantFrom('create', 'create', 'get', 'page'),
    name: fc.constantFrom('a', 'b', 'c'),
    id: fc.integer({ min: 1, max: 3 }),
    begun: fc.nat(20),
    duration: fc.nat(8),
    instant: fc.nat(100),
    outcome: fc.constantFrom('acknowledged', 'acknowledged', 'answer lost', 'request lost'),
  });
  const change = fc.record({
    at: fc.nat(6),
    what: fc.constantFrom('later', 'longer', 'forget', 'show', 'remark'),
    by: fc.integer({ min: -9, max: 9 }),
    id: fc.integer({ min: 1, max: 3 }),
    name: fc.constantFrom('a', 'b', 'stray'),
  });

  /** What clients of a perfect service see. */
  function play(plans: readonly Plan[]): readonly Call[] {
    const names = new Map<number, string>();
    const instantOf = ({ begun, duration, instant }: Plan) => begun + (duration * instant) / 100;
    return plans
      .toSorted((a, b) => instantOf(a) - instantOf(b))
      .map(({ type, name, id, begun, duration, outcome }) => {
        const ended = begun + duration;
        const all = [...names].toSorted(([a], [b]) => a - b).map(([of, its]) => json(of, its));
        if (type === 'get') return get(id, begun, names.get(id), { ended });
        if (type === 'page') return page(begun, all.slice(id - 1), { after: id - 1, ended });
        const known = [...names].find(([, its]) => its === name)?.[0];
        const its = known ?? names.size + 1;
        if (outcome !== 'request lost') names.set(its, name);
        if (outcome !== 'acknowledged') return create(name, begun, undefined, { ended });
        return create(name, begun, its, { ended, replayed: known !== undefined });
      });
  }

  /** Moves a call, or changes its answer. */
  function altered(
    call: Call,
    { what, by, id, name }: typeof change extends fc.Arbitrary<infer T> ? T : never,
  ): Call {
    if (what === 'later') return { ...call, begun: call.begun + by, ended: call.ended + by };
    if (what === 'longer') return { ...call, ended: Math.max(call.begun, call.ended + by) };
    if (call.type === 'create') {
      if (call.answer === undefined) return call;
      if (what === 'remark') return { ...call, replayed: call.replayed !== true };
      return { ...call, answer: `{"id":${id},${call.content}` };
    }
    if (call.type === 'get')
      return get(call.id, call.begun, what === 'show' ? name : undefined, { ended: call.ended });
    if (call.type !== 'page') return call;
    const others = (call.pets ?? []).filter((pet) => !pet.startsWith(`{"id":${id},`));
    const shown = what === 'show' && id > call.after ? [...others, json(id, name)] : others;
    return { ...call, pets: shown.toSorted() };
  }

  it('agrees on thousands of small histories, right and wrong', () => {
    const counts = { right: 0, wrong: 0 };
    const property = fc.property(
      fc.array(plan, { minLength: 1, maxLength: 6 }),
      fc.array(change, { maxLength: 4 }),
      (plans, changes) => {
        const calls = [...play(plans)];
        for (const each of changes) {
          const call = calls[each.at % calls.length];
          if (call !== undefined) calls[each.at % calls.length] = altered(call, each);
        }
        const isRight = isLinearizable(calls);
        counts[isRight ? 'right' : 'wrong']++;
        // The order of ids is a promise of its own.
        const found = checkHistory({ calls }).violations.filter(({ rule }) => rule !== 'id order');
        expect(found.length === 0, JSON.stringify({ calls, found }, undefined, 1)).toBe(isRight);
      },
    );
    fc.assert(property, { numRuns: 5_000, seed: 15 });
    expect(Math.min(counts.right, counts.wrong)).toBeGreaterThan(1_000);
  });

  it('accepts whatever the clients of a perfect service see', () => {
    const property = fc.property(fc.array(plan, { minLength: 1, maxLength: 60 }), (plans) => {
      expect(checkHistory({ calls: play(plans) }).violations).toStrictEqual([]);
    });
    fc.assert(property, { numRuns: 500, seed: 15 });
  });
});
