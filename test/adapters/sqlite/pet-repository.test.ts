import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { idempotencyContract } from '../../contracts/idempotency.ts';
import { type PetStore, petRepositoryContract } from '../../contracts/pet-repository.ts';

const lacks = { another: 'one service a file: the lock refuses a second one' };

petRepositoryContract('sqlite', open, lacks);
idempotencyContract('sqlite', open, lacks);

async function open(lastId?: bigint): Promise<PetStore> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-sqlite-'));
  const file = join(directory, 'petstore.db');
  const storage = await openSqliteStorage(file);
  if (lastId !== undefined) {
    using db = new DatabaseSync(file);
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)").run(lastId);
  }
  return {
    pets: storage.pets,
    async close() {
      await storage.close();
      await rm(directory, { recursive: true });
    },
  };
}
