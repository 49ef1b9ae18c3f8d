import { expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { around } from '../../../src/application/ports/around.ts';
import type { PetRepository } from '../../../src/application/ports/pet-repository.ts';
import { aPet } from '../../support/pets.ts';

it('around wraps each call of the named methods, and leaves the other methods unchanged', async () => {
  const memory: PetRepository = new InMemoryPetRepository();
  const events: unknown[] = [];
  const names = { insert: 'new', findById: 'one', insertOnce: undefined, list: undefined } as const;
  const pets = around(memory, names, (name) => {
    events.push(name);
    return async (call, args) => {
      events.push([name, ...args]);
      const result = await call();
      events.push(result);
      return result;
    };
  });
  const rex = { id: 1n, ...aPet() };
  expect(await pets.insert(aPet())).toStrictEqual(rex);
  expect(await pets.list({ limit: 1 })).toStrictEqual([rex]);
  expect(await pets.findById(1n)).toStrictEqual(rex);
  expect(events).toStrictEqual(['new', 'one', ['new', aPet()], rex, ['one', 1n], rex]);
});
