import { PartialFile, petLines } from '../../adapters/ndjson/partial-file.ts';
import { BEFORE_EVERY_ID } from '../../application/ports/pet-archive.ts';
import { compose, type Resolve } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { countText } from './count-text.ts';
import type { Session } from './session.ts';
import { UsageError } from './usage-error.ts';

export const exportCommand: Command = {
  async run(given, session) {
    const [file = '-'] = given.positionals;
    const isPiped = file === '-';
    if (isPiped && given.json) throw new UsageError('--json needs a FILE: standard output holds the pets');
    await using opened = new AsyncDisposableStack();
    const storage = await storageOf('--from', given.options.from, session).openForReading();
    opened.adopt(storage, (source) => source.close());
    const resolve = compose({ sourceArchive: storage.archive });
    const pets = await (isPiped ? toStandardOutput(resolve, session) : toFile(resolve, file, session));
    if (given.json) await session.print(`${JSON.stringify({ file, pets })}\n`);
    // Not to standard output, which may hold the export.
    else session.note(`exported ${countText(pets, 'pet')}`);
  },
};

async function toStandardOutput(resolve: Resolve, session: Session): Promise<number> {
  session.hint = 'the output is incomplete; run the command again from the beginning';
  let count = 0;
  for await (const pets of resolve('exportPets').execute(BEFORE_EVERY_ID, session.onProgress)) {
    await session.write(petLines(pets));
    count += pets.length;
  }
  return count;
}

async function toFile(resolve: Resolve, path: string, session: Session): Promise<number> {
  await using opened = new AsyncDisposableStack();
  const file = opened.adopt(await PartialFile.open(path), (partial) => partial.close());
  session.hint = `run the same command again to continue ${file.path}`;
  const delivered = await file.delivered();
  if (delivered !== undefined) {
    if (!(await resolve('resumeExport').execute(delivered))) throw file.misfit();
    await file.cut();
    session.note(`continuing ${file.path} after ${countText(delivered.count, 'pet')}`);
  }
  let count = delivered?.count ?? 0;
  const after = delivered?.last.id ?? BEFORE_EVERY_ID;
  for await (const pets of resolve('exportPets').execute(after, session.onProgress)) {
    await file.append(pets);
    count += pets.length;
  }
  await file.complete();
  return count;
}
