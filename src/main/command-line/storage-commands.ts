import type { Command } from 'commander';
import { CheckStorage } from '../../application/maintenance/check-storage.ts';
import { SkipIds } from '../../application/maintenance/skip-ids.ts';
import type { Finding } from '../../application/ports/storage-health.ts';
import { SKIPPED_PET_IDS } from '../../domain/pet.ts';
import { countText } from '../config/forms.ts';
import { kindsWith, namesOf, STORAGES, urlForms } from '../config/storages.ts';
import { StorageUnsound, UsageError } from '../program/failures.ts';
import { asDisposable, reportUsed, SOURCES, storageOf, type Urls } from './command-storage.ts';
import type { ActionOf, Session } from './session.ts';

const OTHER_BACKUPS = STORAGES.map(({ name, tools }) =>
  tools ? ` For ${name} use ${tools.backUp}.` : '',
).join('');

export function addStorageCommands(petstore: Command, actionOf: ActionOf): void {
  const backedUp = namesOf(kindsWith('backUp'));
  const backedUpUrl = `${urlForms(kindsWith('backUp'))} (default: DATABASE_URL)`;
  petstore
    .command('migrate')
    .description(
      `Brings the schema of a ${namesOf(kindsWith('migrate'))} database up to date. The start of a service on SQLite does ` +
        'the same; this command refuses a file that a service uses.',
    )
    .argument('[URL]', `${urlForms(kindsWith('migrate'))} (default: DATABASE_URL)`)
    .action(actionOf(migrate));
  petstore
    .command('backup')
    .description(
      `Copies a ${backedUp} database to a file: pets, API keys and idempotency keys. A service may use it at the same ` +
        `time: FILE contains every pet acknowledged before the start.${OTHER_BACKUPS}`,
    )
    .argument('<FILE>', 'must not exist; only its owner can read it. After an interruption there is no FILE')
    .option('--from <URL>', backedUpUrl)
    .action(actionOf(backUp));
  petstore
    .command('restore')
    .description(
      `Checks FILE and makes a ${backedUp} database of a copy of it, where there is none. If there is one, it prints the ` +
        'command that moves it away. After an interruption, run the same command again.',
    )
    .argument('<FILE>', 'a file that backup has written')
    .option('--to <URL>', backedUpUrl)
    .action(actionOf(restore));
  petstore
    .command('skip-ids')
    .description(
      'Skips 10^12 ids, so that no new pet is assigned the id of a lost pet. Each repetition skips another 10^12 ids. For a ' +
        'storage that may lack its latest pets: a MongoDB that was restored or has lost members, or a SQLite file from ' +
        'a snapshot of its volume, a copy, or a replica such as that of Litestream. Run it before the services start. ' +
        'A file that backup has written needs no skip-ids.',
    )
    .argument('[URL]', SOURCES)
    .action(actionOf(skipIds));
  petstore
    .command('check')
    .description(
      'Examines a storage and reports what is wrong with it, even while services use it. Reads the schema, the indexes, ' +
        'every pet, idempotency key and API key, and changes nothing. Exit codes: 0 sound, 1 findings, one per line.',
    )
    .option('--from <URL>', SOURCES)
    .action(actionOf(checkStorage));
}

async function migrate(session: Session, url: string | undefined): Promise<void> {
  const storage = storageOf('URL', url, session);
  if (storage.kind.migrate === undefined) throw notFor('migrate', session);
  const { database, from, to, note } = await storage.kind.migrate(storage.url, session.host);
  const earlierVersion = from === to ? 'as before' : `before: ${from ?? 'none'}`;
  const text = `the database "${database}" has schema version ${to} (${earlierVersion})${note ? `, ${note}` : ''}\n`;
  await session.answer(text, { database, from: from ?? null, to, note: note ?? null });
}

async function backUp(session: Session, file: string, options: Urls): Promise<void> {
  requireFileName(file);
  const storage = storageOf('--from', options.from, session);
  if (storage.kind.backUp === undefined) throw notFor('backUp', session);
  session.hint = 'no backup was written; run the same command again';
  await storage.kind.backUp(storage.url, file, session.onProgress);
  reportUsed('read from', storage, session);
  await session.answer(`backed up to ${file}\n`, { file });
}

async function restore(session: Session, file: string, options: Urls): Promise<void> {
  requireFileName(file);
  const storage = storageOf('--to', options.to, session);
  if (storage.kind.restore === undefined) throw notFor('restore', session);
  session.hint = 'run the same command again';
  const upTo = await storage.kind.restore(storage.url, file, session.onProgress);
  reportUsed('wrote to', storage, session);
  const text = `restored ${file}; new pets are assigned ids greater than ${upTo}\n`;
  await session.answer(text, { file, upTo: Number(upTo) });
}

/** Names the tools that replace the command for other storages. */
function notFor(method: 'migrate' | 'backUp' | 'restore', { io: { storages } }: Session): UsageError {
  const otherTools = storages.flatMap(({ name, tools }) =>
    tools && method !== 'migrate' ? [`; for ${name} use ${tools[method]}`] : [],
  );
  const names = namesOf(kindsWith(method, storages));
  return new UsageError(`${method.toLowerCase()} is for ${names}${otherTools.join('')}`);
}

function requireFileName(file: string): void {
  if (file === '-') throw new UsageError('a backup needs the name of a file');
}

/** A storage can have one finding per pet. */
const MAX_SHOWN = 100;

async function checkStorage(session: Session, options: Urls): Promise<void> {
  const storage = storageOf('--from', options.from, session);
  await using source = await asDisposable(storage.kind.openForChecking(storage.url));
  session.hint = 'the check is incomplete; nothing was changed';
  const findings = new CheckStorage(source).execute(session.onProgress);
  const shownFindings: Finding[] = [];
  let count = 0;
  let next = await findings.next();
  for (; !next.done; next = await findings.next()) {
    count++;
    if (shownFindings.length < MAX_SHOWN) shownFindings.push(next.value);
  }
  const { pets, apiKeys } = next.value;
  reportUsed('read from', storage, session);
  const more = count - shownFindings.length;
  const lines = shownFindings.map(({ about, problem }) => `${about}: ${problem}\n`).join('');
  const moreText = more === 0 ? '' : `and ${countText(more, 'further problem')}\n`;
  const checked = `checked ${countText(pets, 'pet')} and ${countText(apiKeys, 'API key')}\n`;
  await session.answer(lines + moreText + checked, { pets, apiKeys, findings: shownFindings, more });
  if (count > 0) throw new StorageUnsound(count);
}

async function skipIds(session: Session, url: string | undefined): Promise<void> {
  const storage = storageOf('URL', url, session);
  // The storage is opened for reading first, because opening for writing would create a missing SQLite file.
  const existing = await storage.kind.openForReading(storage.url);
  await existing.close();
  await using target = await asDisposable(storage.kind.openForWriting(storage.url, session.host));
  session.hint = 'ids may have been skipped; run the same command again';
  const upTo = await new SkipIds(target.archive).execute();
  reportUsed('wrote to', storage, session);
  const text = `skipped ${SKIPPED_PET_IDS} ids; new pets are assigned ids greater than ${upTo}\n`;
  await session.answer(text, { skipped: Number(SKIPPED_PET_IDS), upTo: Number(upTo) });
}
