import { InvalidConfig, readConfig } from '../config/config.ts';
import type { Command } from './command.ts';

export const migrateCommand: Command = {
  name: 'migrate',
  options: [],
  maxPositionals: 0,
  async run(_given, session) {
    const { DATABASE_URL } = readConfig(session.env);
    if (!DATABASE_URL.startsWith('mongodb')) {
      throw new InvalidConfig(['DATABASE_URL must be mongodb://HOST/DATABASE to migrate']);
    }
    const mongodb = await import('../../adapters/mongodb/migrate.ts');
    const { database, from, to } = await mongodb.migrate(DATABASE_URL);
    const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
    await session.print(`the database "${database}" has schema version ${to} (${before})\n`);
  },
};
