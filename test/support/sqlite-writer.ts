import { writeSync } from 'node:fs';
import { openSqliteStorage } from '../../src/adapters/sqlite/open.ts';
import { newPet } from '../../src/domain/pet.ts';
import { idempotencyFor } from './archived-pets.ts';

/**
 * A service that stores pets until it is killed: `node sqlite-writer.ts FILE CALLERS`. A line for each pet, as soon as
 * it is acknowledged: how many there are now, its id, its name.
 */
const [file = '', callers] = process.argv.slice(2);
const { pets } = await openSqliteStorage(file);
writeSync(1, 'open\n');

let acknowledged = 0;
await Promise.all(
  Array.from({ length: Number(callers) }, async (_, caller) => {
    for (let n = 0; ; n++) {
      const name = `pet ${caller}-${n}`;
      const { pet } = await pets.insertOnce(newPet({ name, categoryId: BigInt(n) }), idempotencyFor(name));
      // Not into a buffer of this process, which it would take with it.
      writeSync(1, `${++acknowledged} ${pet.id} ${pet.name}\n`);
    }
  }),
);
// With no callers it only holds the file.
process.stdin.resume();
