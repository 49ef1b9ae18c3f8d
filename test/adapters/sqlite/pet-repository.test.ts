import { DatabaseSync } from 'node:sqlite';
import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { idempotencyContract } from '../../contracts/idempotency.ts';
import { type PetStore, petRepositoryContract } from '../../contracts/pet-repository.ts';
import { newFile, silentLog } from '../../support/sqlite.ts';

const lacks = { another: 'one service per file: the lock refuses a second one' };

petRepositoryContract('sqlite', open, lacks);
idempotencyContract('sqlite', open, lacks);

async function open(lastId?: bigint): Promise<PetStore> {
  const file = await newFile();
  const { pets, close } = await openSqliteStorage(file, silentLog);
  if (lastId !== undefined) {
    using db = new DatabaseSync(file);
    db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ?)").run(lastId);
  }
  return { pets, close };
}
