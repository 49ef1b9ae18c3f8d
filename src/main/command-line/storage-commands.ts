import type { Finding } from '../../application/ports/storage-health.ts';
import { SKIPPED_PET_IDS } from '../../domain/pet.ts';
import { StartError } from '../config/config.ts';
import { countText } from '../config/forms.ts';
import {
  databaseUrlRule,
  DEFAULT_DATABASE_URL,
  kindsWith,
  namesOf,
  parseDatabaseUrl,
} from '../config/storages.ts';
import { compose } from '../program/compose.ts';
import { StorageUnsound, UsageError } from '../program/failures.ts';
import { open, storageOf } from './command-storage.ts';
import type { Given, Session } from './session.ts';

export async function backupCommand(given: Given, session: Session): Promise<void> {
  const file = fileOf(given);
  const { kind, url } = storageOf('--from', given.options.from, session);
  if (kind.backUp === undefined) throw new UsageError(`backup ${otherTools('backUp', session)}`);
  session.hint = 'no backup was written; run the same command again';
  await kind.backUp(url, file, session.onProgress);
  await session.answer(given, `backed up to ${file}\n`, { file });
}

export async function restoreCommand(given: Given, session: Session): Promise<void> {
  const file = fileOf(given);
  const { kind, url } = storageOf('--to', given.options.to, session);
  if (kind.restore === undefined) throw new UsageError(`restore ${otherTools('restore', session)}`);
  session.hint = 'run the same command again';
  await kind.restore(url, file, session.onProgress);
  await session.answer(given, `restored ${file}\n`, { file });
}

/** Says which storages the command is for, and what takes its place for the others. */
function otherTools(command: 'backUp' | 'restore', { io: { storages } }: Session): string {
  const others = storages.flatMap(({ name, tools }) =>
    tools ? [`; for ${name} use ${tools[command]}`] : [],
  );
  return `is for ${namesOf(kindsWith(command, storages))}${others.join('')}`;
}

function fileOf({ positionals: [file = '-'] }: Given): string {
  if (file === '-') throw new UsageError('a backup needs the name of a file');
  return file;
}

/** How many findings are shown. A storage can have one for each pet. */
const MAX_SHOWN = 100;

export async function checkCommand(given: Given, session: Session): Promise<void> {
  const storage = storageOf('--from', given.options.from, session);
  await using source = await open(storage, { for: 'checking' });
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

export async function migrateCommand(given: Given, session: Session): Promise<void> {
  const [argument] = given.positionals;
  const { storages, env } = session.io;
  const storage = parseDatabaseUrl(argument ?? (env['DATABASE_URL'] || DEFAULT_DATABASE_URL), storages);
  if (storage?.kind.migrate === undefined) {
    const rule = `${databaseUrlRule(kindsWith('migrate', storages))} to migrate`;
    throw argument === undefined ? new StartError([`DATABASE_URL ${rule}`]) : new UsageError(`URL ${rule}`);
  }
  const { database, from, to } = await storage.kind.migrate(storage.url);
  const before = from === to ? 'as before' : `before: ${from ?? 'none'}`;
  const text = `the database "${database}" has schema version ${to} (${before})\n`;
  await session.answer(given, text, { database, from: from ?? null, to });
}

export async function skipIdsCommand(given: Given, session: Session): Promise<void> {
  const storage = storageOf('URL', given.positionals[0], session);
  // Refuses a missing SQLite file, which opening it for writing would create.
  const existing = await storage.kind.open(storage.url, { for: 'reading' });
  await existing.close();
  await using target = await open(storage, { for: 'writing' });
  session.hint = 'ids may have been skipped; run the same command again';
  const upTo = await compose({ archive: target.archive }).skipIds.execute();
  const text = `skipped ${SKIPPED_PET_IDS} ids; new pets get ids greater than ${upTo}\n`;
  await session.answer(given, text, { skipped: Number(SKIPPED_PET_IDS), upTo: Number(upTo) });
}
