import { InvalidConfig, readConfig } from '../config/config.ts';
import type { Command } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  options: [],
  maxPositionals: 0,
  async run(_given, session) {
    const { storage } = readConfig(session.env, session.storages);
    if (!storage.persistent || storage.migrate === undefined) {
      throw new InvalidConfig(['DATABASE_URL must be mongodb://HOST/DATABASE to migrate']);
    }
    const { database, from, to } = await storage.migrate();
    const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
    await session.print(`the database "${database}" has schema version ${to} (${before})\n`);
  },
};
