import { openSqliteStorage } from '../../src/adapters/sqlite/open.ts';
import { idempotencyFor } from './archived-pets.ts';
import { aPet } from './pets.ts';
import { storageHost } from './storage-host.ts';

/**
 * A service that stores pets until a test kills it: `node sqlite-writer.ts FILE CALLERS`. For each acknowledged pet it
 * prints a line with the number of pets so far, the id and the name. With 0 callers it only keeps the file open.
 */
const [file = '', callers] = process.argv.slice(2);
const storage = await openSqliteStorage(file, storageHost());
const { pets } = storage;
process.stdout.write('open\n');

let acknowledged = 0;
await Promise.all(
  Array.from({ length: Number(callers) }, async (_, caller) => {
    for (let n = 0; ; n++) {
      const name = `pet ${caller}-${n}`;
      const { pet } = await pets.insertOnce(aPet({ name, categoryId: BigInt(n) }), idempotencyFor(name));
      const line = `${++acknowledged} ${pet.id} ${pet.name}\n`;
      // The caller waits while the pipe is full, because a busy test may read late.
      await new Promise((resolve) => void process.stdout.write(line, resolve));
    }
  }),
);
// This listener keeps a reference to the storage. Without it, garbage collection would release the lock of the storage.
process.stdin.on('end', () => void storage.close()).resume();
