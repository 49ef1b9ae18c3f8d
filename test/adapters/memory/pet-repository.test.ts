import { expect, it } from 'vitest';
import { InMemoryPetRepository } from '../../../src/adapters/memory/pet-repository.ts';
import { INT64_MAX } from '../../../src/domain/pet.ts';
import { anArchivedPet } from '../../support/archived-pets.ts';

it.each([
  ['without gaps', (n: number) => n + 1],
  ['with growing gaps', (n: number) => (n + 1) ** 4],
])('a page in memory begins after any id, among ids %s', async (_, idOf) => {
  const pets = new InMemoryPetRepository();
  const ids = Array.from({ length: 100 }, (__, n) => BigInt(idOf(n)));
  await pets.write(ids.map((id) => anArchivedPet({ id })));
  for (const after of ids.flatMap((id) => [id - 1n, id, id + 1n]).concat(-1n, 0n, INT64_MAX)) {
    const page = await pets.list({ after, limit: 2 });
    expect(page.map(({ id }) => id)).toStrictEqual(ids.filter((id) => id > after).slice(0, 2));
  }
});
