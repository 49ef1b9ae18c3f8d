import { openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { petRepositoryModel } from '../../contracts/pet-repository-model.ts';
import { newFile, silentLog } from '../../support/sqlite.ts';

petRepositoryModel(
  'sqlite',
  async () => {
    const file = await newFile();
    return { open: () => openSqliteStorage(file, silentLog) };
  },
  { runs: 12, processes: 'one after another' },
);
