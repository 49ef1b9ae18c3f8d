import { describe, expect, it } from 'vitest';
import { runCommand } from '../../support/command.ts';
import { freshDatabase } from '../../support/mongo-database.ts';
import { mongo, noMongo } from '../../support/shared-mongo.ts';

describe.skipIf(mongo === undefined)(`migrate${noMongo}`, () => {
  it('migrates the database of DATABASE_URL, and prints its schema version', async () => {
    const { url: DATABASE_URL, db } = await freshDatabase(mongo!, { migrated: false });
    const firstCommand = await runCommand(['migrate'], { DATABASE_URL });
    expect(firstCommand.stdout).toMatch(
      new RegExp(`^the database "${db.databaseName}" has schema version \\d+ \\(before: none\\)\\n$`),
    );
    const secondCommand = await runCommand(['migrate'], { DATABASE_URL });
    expect(secondCommand.stdout).toBe(firstCommand.stdout.replace('before: none', 'as before'));
  });
});
