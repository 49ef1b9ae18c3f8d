import { describe, expect, it } from 'vitest';
import { acknowledgedBefore, missingFrom, type Page } from './freshness.ts';
import type { Create, Outcome } from './history.ts';

const json = (id: number, status = 'sold') => `{"id":${id},"name":"n","categoryId":7,"status":"${status}"}`;
const create = (id: number, ended: number, outcome: Outcome = 'acknowledged', status?: string): Create => ({
  key: 'k',
  name: 'n',
  body: '',
  begun: 0,
  ended,
  attempts: [],
  outcome,
  ...(outcome === 'acknowledged' && { answer: json(id, status) }),
});
const CREATES = [
  create(1, 10),
  create(2, 20),
  create(3, 30, 'unknown'),
  create(4, 40, 'acknowledged', 'pending'),
];
const page = (rest: Partial<Page>): Page => ({ begun: 100, after: 0n, pets: [], more: false, ...rest });

describe('freshness', () => {
  it('concerns the pets that were acknowledged before the read began', () => {
    expect(acknowledgedBefore(CREATES, 20)).toStrictEqual([json(1)]);
    expect(acknowledgedBefore(CREATES, 21)).toStrictEqual([json(1), json(2)]);
    expect(acknowledgedBefore(CREATES, 100)).toStrictEqual([json(1), json(2), json(4, 'pending')]);
  });

  it.each<{ what: string; on: Partial<Page>; missing: string[] }>([
    { what: 'every pet', on: { pets: [json(1), json(2), json(3), json(4, 'pending')] }, missing: [] },
    { what: 'no pet', on: {}, missing: [json(1), json(2), json(4, 'pending')] },
    {
      what: 'a changed pet',
      on: { pets: [json(1), json(2, 'pending'), json(4, 'pending')] },
      missing: [json(2)],
    },
    { what: 'no later pet', on: { begun: 20, pets: [json(1)] }, missing: [] },
    { what: 'a gap before the next page', on: { pets: [json(2)], more: true }, missing: [json(1)] },
    { what: 'the rest on the next page', on: { pets: [json(1)], more: true }, missing: [] },
    { what: 'a gap at the end', on: { pets: [json(1), json(2)] }, missing: [json(4, 'pending')] },
    { what: 'the pets after an id', on: { after: 2n, pets: [json(4, 'pending')] }, missing: [] },
    { what: 'the pets of a status', on: { status: 'sold', pets: [json(1), json(2)] }, missing: [] },
    { what: 'no pet of a status', on: { status: 'pending' }, missing: [json(4, 'pending')] },
  ])('a page has $what', ({ on, missing }) => {
    expect(missingFrom(page(on), CREATES)).toStrictEqual(missing);
  });
});
