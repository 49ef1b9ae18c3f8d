import { expect, it, onTestFinished } from 'vitest';
import { openMongoStorage } from '../../../src/adapters/mongodb/open.ts';
import { newPet } from '../../../src/domain/pet.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { leftOut, mongo } from '../../support/shared-mongo.ts';

const PETS = 400;

it.skipIf(mongo === undefined)(
  `a reader that asks again after its last id misses no pet of several services${leftOut}`,
  async () => {
    const { url } = await freshDatabase(mongo!);
    const open = async () => {
      const { pets, close } = await openMongoStorage(url, { autoMigrate: false });
      onTestFinished(close);
      return pets;
    };
    const [first, second, reader] = [await open(), await open(), await open()];
    const rex = newPet({ name: 'Rex', categoryId: 7n });
    const adding = [first, second].map(async (pets) => {
      for (let left = PETS / 2; left > 0; left -= 5) {
        await Promise.all(Array.from({ length: 5 }, () => pets.insert(rex)));
      }
    });

    const seen: bigint[] = [];
    while (seen.length < PETS) {
      const found = await reader.list({ after: seen.at(-1), limit: 100 });
      seen.push(...found.map(({ id }) => id));
      expect(seen.at(-1) ?? 0n, 'the last id').toBe(BigInt(seen.length));
    }
    await Promise.all(adding);
  },
);
