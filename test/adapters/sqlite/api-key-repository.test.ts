import { openSqliteKeys, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { type ApiKeyStore, apiKeyRepositoryContract } from '../../contracts/api-key-repository.ts';
import { newFile, silentLog } from '../../support/sqlite.ts';

apiKeyRepositoryContract('sqlite', open);

async function open(): Promise<ApiKeyStore> {
  const file = await newFile();
  const service = await openSqliteStorage(file, silentLog);
  const opened: { close(): Promise<void> }[] = [service];
  return {
    keys: service.keys,
    async another() {
      const commandLine = await openSqliteKeys(file);
      opened.push(commandLine);
      return commandLine.keys;
    },
    async close() {
      for (const one of opened) await one.close();
    },
  };
}
