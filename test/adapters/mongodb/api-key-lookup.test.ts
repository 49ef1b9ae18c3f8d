import { EventEmitter } from 'node:events';
import type { Collection, Db } from 'mongodb';
import { expect, it } from 'vitest';
import { ApiKeyLookup } from '../../../src/adapters/mongodb/api-key-lookup.ts';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import type { ApiKeyDocument } from '../../../src/adapters/mongodb/schema/collections.ts';
import { Simulation } from '../../simulation/simulation.ts';
import { virtualTime } from '../../simulation/virtual-time.ts';

/** A lookup, and the ids of its queries. */
function recorded() {
  const queries: string[][] = [];
  const find = ({ _id }: { readonly _id: { readonly $in: string[] } }) => {
    queries.push(_id.$in);
    return { toArray: async () => [] };
  };
  const db = { client: new EventEmitter(), collection: () => ({ findOne: async () => null }) };
  const reads = new ConfirmedReads(db as unknown as Db);
  const lookup = new ApiKeyLookup({ find } as unknown as Collection<ApiKeyDocument>, reads, 10_000);
  return { lookup, queries };
}

it('queries 200 times a second at most', async () => {
  const simulation = new Simulation(1);
  simulation.calm();
  using _ = virtualTime(simulation);
  const { lookup, queries } = recorded();
  const beganMs = simulation.nowMs;
  const flood = (async () => {
    for (let n = 0; n < 200; n++) await Promise.all([lookup.find('a'), lookup.find('b')]);
    return simulation.nowMs - beganMs;
  })();
  await simulation.run();

  expect([queries.length, Math.round(await flood)]).toStrictEqual([200, 995]);
});

it('queries at once after a pause of 5 ms, unless another query is due', async () => {
  const simulation = new Simulation(1);
  simulation.calm();
  using _ = virtualTime(simulation);
  const { lookup, queries } = recorded();
  const lookups = (async () => {
    // Confirms the primary too.
    await lookup.find('a');
    await simulation.wait('the pause is over', 6);
    const first = lookup.find('b');
    await simulation.wait('b is under way', 1);
    expect(queries).toStrictEqual([['a'], ['b']]);
    await Promise.all([first, lookup.find('c'), lookup.find('d')]);
  })();
  await simulation.run();
  await lookups;

  expect(queries).toStrictEqual([['a'], ['b'], ['c', 'd']]);
});
