import type { Finding } from '../../application/ports/storage-health.ts';
import { SKIPPED_PET_IDS } from '../../domain/pet.ts';
import { InvalidConfig } from '../config/config.ts';
import { countText } from '../config/forms.ts';
import { parseDatabaseUrl } from '../config/storages.ts';
import { DEFAULT_DATABASE_URL } from '../config/variables.ts';
import { compose } from '../program/compose.ts';
import { StorageUnsound, UsageError } from '../program/failures.ts';
import { storageOf } from './command-storage.ts';
import type { Given, Session } from './session.ts';

export async function backupCommand(given: Given, session: Session): Promise<void> {
  const file = fileOf(given);
  const storage = storageOf('--from', given.options.from, session);
  if (storage.backUp === undefined) {
    throw new UsageError(
      'backup is for SQLite; for MongoDB use mongodump --oplog or snapshots of its volumes',
    );
  }
  session.hint = 'no backup was written; run the same command again';
  await storage.backUp(file, session.onProgress);
  await session.answer(given, `backed up to ${file}\n`, { file });
}

export async function restoreCommand(given: Given, session: Session): Promise<void> {
  const file = fileOf(given);
  const storage = storageOf('--to', given.options.to, session);
  if (storage.restore === undefined) {
    throw new UsageError('restore is for SQLite; for MongoDB use mongorestore');
  }
  session.hint = 'run the same command again';
  const kept = await storage.restore(file, session.onProgress);
  const text = kept === undefined ? '' : `; what it replaced is kept as ${kept}`;
  await session.answer(given, `restored ${file}${text}\n`, { file, kept });
}

function fileOf({ positionals: [file = '-'] }: Given): string {
  if (file === '-') throw new UsageError('a backup needs the name of a file');
  return file;
}

/** How many findings are shown. A storage can have one for each pet. */
const MAX_SHOWN = 100;

export async function checkCommand(given: Given, session: Session): Promise<void> {
  const storage = storageOf('--from', given.options.from, session);
  if (storage.openForChecking === undefined) throw new UsageError('check is for SQLite and MongoDB');
  await using opened = new AsyncDisposableStack();
  const source = opened.adopt(await storage.openForChecking(), (checkable) => checkable.close());
  session.hint = 'the check is incomplete; nothing was changed';
  const { archive: sourceArchive, keys: sourceKeys, inspector } = source;
  const check = compose({ sourceArchive, sourceKeys, inspector }).checkStorage.execute(session.onProgress);
  const shown: Finding[] = [];
  let count = 0;
  let next = await check.next();
  for (; !next.done; next = await check.next()) {
    count++;
    if (shown.length < MAX_SHOWN) shown.push(next.value);
  }
  const { pets, apiKeys } = next.value;
  const more = count - shown.length;
  const lines = shown.map(({ about, problem }) => `${about}: ${problem}\n`).join('');
  const rest = more === 0 ? '' : `and ${countText(more, 'further problem')}\n`;
  const checked = `checked ${countText(pets, 'pet')} and ${countText(apiKeys, 'API key')}\n`;
  await session.answer(given, lines + rest + checked, { pets, apiKeys, findings: shown, more });
  if (count > 0) throw new StorageUnsound(count);
}

const RULE = 'must be mongodb://HOST/DATABASE to migrate';

export async function migrateCommand(given: Given, session: Session): Promise<void> {
  const [url] = given.positionals;
  const configured = session.io.env['DATABASE_URL'] || DEFAULT_DATABASE_URL;
  const storage = parseDatabaseUrl(url ?? configured, session.io.storages);
  if (!storage?.persistent || storage.migrate === undefined) {
    throw url === undefined ? new InvalidConfig([`DATABASE_URL ${RULE}`]) : new UsageError(`URL ${RULE}`);
  }
  const { database, from, to } = await storage.migrate();
  const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
  const text = `the database "${database}" has schema version ${to} (${before})\n`;
  await session.answer(given, text, { database, from: from ?? null, to });
}

export async function skipIdsCommand(given: Given, session: Session): Promise<void> {
  const storage = storageOf('URL', given.positionals[0], session);
  // Refuses a missing SQLite file, which opening it for writing would create.
  const existing = await storage.openForReading();
  await existing.close();
  await using opened = new AsyncDisposableStack();
  const { archive } = opened.adopt(await storage.openForWriting(), (target) => target.close());
  session.hint = 'ids may have been skipped; run the same command again';
  const upTo = await compose({ archive }).skipIds.execute();
  const text = `skipped ${SKIPPED_PET_IDS} ids; new pets get ids greater than ${upTo}\n`;
  await session.answer(given, text, { skipped: Number(SKIPPED_PET_IDS), upTo: Number(upTo) });
}
