import { EventEmitter } from 'node:events';
import type { Db } from 'mongodb';
import { expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import { Simulation } from '../../../proof/simulation/simulation.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { virtualTime } from '../../../proof/simulation/virtual-time.ts';

/** A repository, and the ids of its queries. */
function recorded() {
  const queries: string[][] = [];
  const find = ({ _id }: { readonly _id: { readonly $in: string[] } }) => {
    queries.push(_id.$in);
    return { toArray: async () => [] };
  };
  const collection = () => ({ find, findOne: async () => null });
  const db = { client: new EventEmitter(), collection, writeConcern: {} } as unknown as Db;
  return { keys: new MongoApiKeyRepository(db, new ConfirmedReads(db)), queries };
}

it('queries 200 times a second at most', async () => {
  const simulation = new Simulation(new SeededRandom(1));
  simulation.calm();
  using _ = virtualTime(simulation);
  const { keys, queries } = recorded();
  const beganMs = simulation.nowMs;
  const flood = (async () => {
    for (let n = 0; n < 200; n++) await Promise.all([keys.findById('a'), keys.findById('b')]);
    return simulation.nowMs - beganMs;
  })();
  await simulation.run();

  expect([queries.length, Math.round(await flood)]).toStrictEqual([200, 995]);
});

it('queries at once after a pause of 5 ms, unless another query is due', async () => {
  const simulation = new Simulation(new SeededRandom(1));
  simulation.calm();
  using _ = virtualTime(simulation);
  const { keys, queries } = recorded();
  const lookups = (async () => {
    // Confirms the primary too.
    await keys.findById('a');
    await simulation.wait('the pause is over', 6);
    const first = keys.findById('b');
    await simulation.wait('b is under way', 1);
    expect(queries).toStrictEqual([['a'], ['b']]);
    await Promise.all([first, keys.findById('c'), keys.findById('d')]);
  })();
  await simulation.run();
  await lookups;

  expect(queries).toStrictEqual([['a'], ['b'], ['c', 'd']]);
});
