import { EventEmitter } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { expect, it } from 'vitest';
import { MongoApiKeyRepository } from '../../../src/adapters/mongodb/api-key-repository.ts';
import { ConfirmedReads } from '../../../src/adapters/mongodb/confirmed-reads.ts';
import { fakeClock } from '../../support/fake-clock.ts';

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

it('queries begin 5 ms apart at least, and at once after a pause', async () => {
  const clock = fakeClock('setTimeout', 'clearTimeout');
  const { keys, queries } = recorded();
  await Promise.all([keys.findById('a'), keys.findById('b')]);
  const next = [keys.findById('c'), keys.findById('d')];
  clock.advance(4);
  await turn();
  await turn();
  expect(queries).toStrictEqual([['a', 'b']]);
  clock.advance(1);
  await Promise.all(next);
  expect(queries).toStrictEqual([
    ['a', 'b'],
    ['c', 'd'],
  ]);

  clock.advance(5);
  await keys.findById('e');
  expect(queries.at(-1)).toStrictEqual(['e']);
});
