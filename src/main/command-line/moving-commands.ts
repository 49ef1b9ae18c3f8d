import { PetFile, writePetFile } from '../../adapters/ndjson/pet-file.ts';
import { petLines } from '../../adapters/ndjson/pet-line.ts';
import type { Copied } from '../../application/maintenance/copy-pets.ts';
import { countText } from '../config/forms.ts';
import { openCommandLog } from '../log/open-log.ts';
import { compose } from '../program/compose.ts';
import { UsageError } from '../program/failures.ts';
import { auditKey } from '../log/audit.ts';
import { open, storageOf } from './command-storage.ts';
import type { Given, Session } from './session.ts';

export async function copyCommand(given: Given, session: Session): Promise<void> {
  const { from: fromUrl, to: toUrl } = given.options;
  if (fromUrl === undefined || toUrl === undefined) throw new UsageError('--from and --to are both required');
  const sourceStorage = storageOf('--from', fromUrl, session);
  const targetStorage = storageOf('--to', toUrl, session);
  await using source = await open(sourceStorage, { for: 'reading' });
  await using target = await open(targetStorage, { for: 'writing' });
  const { copyKeys, copyPets } = compose({
    sourceArchive: source.archive,
    sourceKeys: source.keys,
    archive: target.archive,
    keys: target.keys,
  });
  session.hint = 'run the same command again to continue; what is copied stays';
  // Finds a damaged key, or a conflict between keys, before the first pet is written.
  await copyKeys.check();
  const copied = await copyPets.execute(session.onProgress);
  if (!given.json) await session.print(copiedText('copied', copied));
  const keys = await copyKeys.execute();
  const log = await openCommandLog(session.io.stderr);
  for (const key of keys) auditKey(log, 'key.copied', key);
  const text = `copied ${countText(keys.length, 'API key')}\n`;
  await session.answer(given, text, { ...copied, apiKeys: keys.length });
}

export async function exportCommand(given: Given, session: Session): Promise<void> {
  const [file = '-'] = given.positionals;
  const isPiped = file === '-';
  if (isPiped && given.json) throw new UsageError('--json needs a FILE: standard output holds the pets');
  await using source = await open(storageOf('--from', given.options.from, session), { for: 'reading' });
  const { exportPets } = compose({ sourceArchive: source.archive });
  session.hint = isPiped
    ? 'the output is incomplete; run the command again from the beginning'
    : 'no file was written; run the same command again';
  let pets = 0;
  const batches = async function* () {
    for await (const batch of exportPets.execute(session.onProgress)) {
      yield batch;
      pets += batch.length;
    }
  };
  if (!isPiped) await writePetFile(file, batches());
  else for await (const batch of batches()) await session.write(petLines(batch));
  if (given.json) await session.print(`${JSON.stringify({ file, pets })}\n`);
  // Not to standard output, which may hold the export.
  else session.note(`exported ${countText(pets, 'pet')}`);
}

export async function importCommand(given: Given, session: Session): Promise<void> {
  const [path = '-'] = given.positionals;
  const storage = storageOf('--to', given.options.to, session);
  await using opened = new AsyncDisposableStack();
  const source = await (path === '-' ? PetFile.keep(session.io.stdin()) : PetFile.open(path));
  opened.defer(() => source.close());
  // Before the target is opened, which creates a missing SQLite file.
  await source.survey(session.onProgress);
  await using target = await open(storage, { for: 'writing' });
  session.hint = 'run the same command again to continue; what is imported stays';
  const copied = await compose({ source, archive: target.archive }).copyPets.execute(session.onProgress);
  await session.answer(given, copiedText('imported', copied), { file: path, ...copied });
}

/** The answer of a command that copies pets. */
function copiedText(done: 'copied' | 'imported', { pets, alreadyThere, others }: Copied): string {
  const known = alreadyThere > 0 ? `; ${alreadyThere} of them were already there` : '';
  const extra = others > 0 ? `; the target also has ${countText(others, 'other pet')}` : '';
  return `${done} ${countText(pets, 'pet')}${known}${extra}\n`;
}
