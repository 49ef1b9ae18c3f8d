import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteKeys, openSqliteStorage } from '../../../src/adapters/sqlite/open.ts';
import { type ApiKeyStore, apiKeyRepositoryContract } from '../../contracts/api-key-repository.ts';

apiKeyRepositoryContract('sqlite', open);

async function open(): Promise<ApiKeyStore> {
  const directory = await mkdtemp(join(tmpdir(), 'petstore-sqlite-'));
  const file = join(directory, 'petstore.db');
  const service = await openSqliteStorage(file);
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
      await rm(directory, { recursive: true });
    },
  };
}
