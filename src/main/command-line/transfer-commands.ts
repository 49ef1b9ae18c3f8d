import type { Command } from 'commander';
import { PetFile } from '../../adapters/ndjson/pet-file.ts';
import { writePetFile } from '../../adapters/ndjson/write-pet-file.ts';
import { petLines } from '../../adapters/ndjson/pet-line.ts';
import { refuseDatabaseFile } from '../../adapters/sqlite/file-format.ts';
import { ArchiveSource } from '../../application/maintenance/archive-source.ts';
import { CopyKeys } from '../../application/maintenance/copy-keys.ts';
import { type CopiedPets, CopyPets } from '../../application/maintenance/copy-pets.ts';
import { ExportPets } from '../../application/maintenance/export-pets.ts';
import { countText } from '../config/forms.ts';
import { openCommandLog } from '../log/open-log.ts';
import { UsageError } from '../program/failures.ts';
import { auditKey } from '../log/audit.ts';
import { asDisposable, reportUsed, SOURCES, storageOf, TARGETS, type Urls } from './command-storage.ts';
import type { ActionOf, Session } from './session.ts';

export function addTransferCommands(petstore: Command, actionOf: ActionOf): void {
  petstore
    .command('export')
    .description(
      'Writes all pets to a file or to standard output: lines of JSON (NDJSON), in ascending order of id, without API ' +
        'keys. Services may use the storage: every pet acknowledged before the start is written, later pets may be missing.',
    )
    .argument(
      '[FILE]',
      'absent or -: standard output, without --json. A name that ends in .gz is compressed. Only its owner can read a new FILE. ' +
        'An existing FILE is replaced when the new file is complete, and keeps its permissions. A database is never replaced',
    )
    .option('--from <URL>', SOURCES)
    .action(actionOf(exportPets));
  petstore
    .command('import')
    .description(
      'Reads pets that export has written, from a file or from standard input. They keep their ids, which the storage ' +
        'never gives to new pets. All pets are checked first: on any error, nothing is written. After an interruption, run ' +
        'the same command again to continue.',
    )
    .argument(
      '<FILE>',
      'lines in ascending order of id: {"id":1,"name":"Rex","categoryId":7,"status":"available"}. A name that ends in ' +
        '.gz is decompressed. -: standard input, which is kept in a temporary file',
    )
    .option('--to <URL>', `${TARGETS} (default: DATABASE_URL)`)
    .action(actionOf(importPets));
  petstore
    .command('copy')
    .description(
      'Copies all pets and API keys to another storage. Pets keep their ids, which the target never assigns to new pets. ' +
        'Keys stay valid: clients need no new ones. The target may already contain pets and keys; if one of them ' +
        'conflicts with the source, nothing is written. After an interruption, run the same command again to continue.',
    )
    .option(
      '--from <URL>',
      'required. Services may use it: every pet acknowledged before the start is copied. Later pets may be missing, so ' +
        'stop the services before the last copy',
    )
    .option('--to <URL>', `required: ${TARGETS}`)
    .action(actionOf(copy));
}

async function copy(session: Session, options: Urls): Promise<void> {
  const from = storageOf('--from', options.from ?? '', session);
  const to = storageOf('--to', options.to ?? '', session);
  await using source = await asDisposable(from.kind.openForReading(from.url));
  await using target = await asDisposable(to.kind.openForWriting(to.url, session.host));
  const copyKeys = new CopyKeys(source.keys, target.keys);
  const copyPets = new CopyPets(new ArchiveSource(source.archive), target.archive);
  session.hint = 'run the same command again to continue; copied pets stay';
  // Finds damaged keys and conflicts between keys before the first pet is written.
  await copyKeys.check();
  const copied = await copyPets.execute(session.onProgress);
  if (!session.json) await session.print(copiedText('copied', copied));
  const { keys, alreadyThere } = await copyKeys.execute();
  const log = await openCommandLog(session.io.stderr);
  for (const key of keys) auditKey(log, 'key.copied', key);
  reportUsed('read from', from, session);
  reportUsed('wrote to', to, session);
  const text = `copied ${countText(keys.length, 'API key')}${alreadyThereText(alreadyThere)}\n`;
  await session.answer(text, { ...copied, apiKeys: keys.length, apiKeysAlreadyThere: alreadyThere });
}

async function exportPets(session: Session, file = '-', options: Urls = {}): Promise<void> {
  const isPiped = file === '-';
  if (isPiped && session.json) throw new UsageError('--json needs a FILE: standard output holds the pets');
  const storage = storageOf('--from', options.from, session);
  await using source = await asDisposable(storage.kind.openForReading(storage.url));
  session.hint = isPiped
    ? 'the output is incomplete; run the command again from the beginning'
    : 'no file was written; run the same command again';
  let pets = 0;
  const batches = new ExportPets(source.archive).execute((progress) => {
    pets = progress.done;
    session.onProgress(progress);
  });
  if (!isPiped) await writePetFile(file, refuseDatabaseFile, batches);
  else for await (const batch of batches) await session.write(petLines(batch));
  reportUsed('read from', storage, session);
  if (session.json) await session.print(`${JSON.stringify({ file, pets })}\n`);
  // Standard output may hold the export.
  else session.note(`exported ${countText(pets, 'pet')}`);
}

async function importPets(session: Session, path: string, options: Urls): Promise<void> {
  const storage = storageOf('--to', options.to, session);
  await using source = await (path === '-' ? PetFile.keep(session.io.stdin()) : PetFile.open(path));
  // This comes before the target is opened, because opening creates a missing SQLite file.
  await source.survey(session.onProgress);
  await using target = await asDisposable(storage.kind.openForWriting(storage.url, session.host));
  session.hint = 'run the same command again to continue; imported pets stay';
  const copied = await new CopyPets(source, target.archive).execute(session.onProgress);
  reportUsed('wrote to', storage, session);
  await session.answer(copiedText('imported', copied), { file: path, ...copied });
}

function copiedText(done: 'copied' | 'imported', { pets, alreadyThere, others }: CopiedPets): string {
  const othersText = others > 0 ? `; the target also has ${countText(others, 'other pet')}` : '';
  return `${done} ${countText(pets, 'pet')}${alreadyThereText(alreadyThere)}${othersText}\n`;
}

function alreadyThereText(alreadyThere: number): string {
  return alreadyThere > 0 ? `; ${alreadyThere} of them were already there` : '';
}
