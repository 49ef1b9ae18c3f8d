import { type Collection, MongoServerError } from 'mongodb';
import { expect, it } from 'vitest';
import { raiseCounter } from '../../../src/adapters/mongodb/id-counter.ts';
import type { CounterDocument, PetDocument } from '../../../src/adapters/mongodb/schema/collections.ts';

const duplicate = (field: string) =>
  new MongoServerError({ message: `duplicate ${field}`, code: 11_000, keyPattern: { [field]: 1 } });

/** Raises a counter. The first update fails with the error. @returns how many updates there were */
async function updates(error: Error): Promise<number> {
  let sent = 0;
  const counters = {
    async updateOne() {
      if (++sent === 1) throw error;
    },
  } as unknown as Collection<CounterDocument>;
  const pets = { findOne: async () => null } as unknown as Collection<PetDocument>;
  await raiseCounter(counters, pets);
  return sent;
}

it('is raised again when another process creates it at the same time', async () => {
  expect(await updates(duplicate('_id'))).toBe(2);
});

it('is not raised again after another error', async () => {
  await expect(updates(duplicate('last'))).rejects.toThrow('duplicate last');
});
