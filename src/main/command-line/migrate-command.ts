import { InvalidConfig } from '../config/config.ts';
import { DEFAULT_DATABASE_URL } from '../config/variables.ts';
import { parseDatabaseUrl } from '../storages.ts';
import type { Command } from './command.ts';
import { UsageError } from './usage-error.ts';

const RULE = 'must be mongodb://HOST/DATABASE to migrate';

export const migrateCommand: Command = {
  async run(given, session) {
    const [url] = given.positionals;
    const configured = session.env['DATABASE_URL'] || DEFAULT_DATABASE_URL;
    const storage = parseDatabaseUrl(url ?? configured, session.storages);
    if (!storage?.persistent || storage.migrate === undefined) {
      throw url === undefined ? new InvalidConfig([`DATABASE_URL ${RULE}`]) : new UsageError(`URL ${RULE}`);
    }
    const { database, from, to } = await storage.migrate();
    const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
    const text = `the database "${database}" has schema version ${to} (${before})\n`;
    await session.answer(given, text, { database, from: from ?? null, to });
  },
};
