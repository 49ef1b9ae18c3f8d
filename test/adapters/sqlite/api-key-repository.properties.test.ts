import { openSqliteKeys } from '../../../src/adapters/sqlite/open.ts';
import { apiKeyRepositoryModel } from '../../contracts/api-key-repository-model.ts';
import { newFile } from '../../support/sqlite.ts';

apiKeyRepositoryModel(
  'sqlite',
  async () => {
    const file = await newFile();
    return { open: () => openSqliteKeys(file) };
  },
  { runs: 8, processes: 'many' },
);
