import { PartialFile, petLines } from '../../adapters/ndjson/partial-file.ts';
import { compose, type Resolve } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { countText } from './count-text.ts';
import type { Session } from './session.ts';

const USAGE = `Usage: npm run petstore -- export [--from URL] [FILE]

Writes every pet as a line of JSON (NDJSON), in ascending order of id, to FILE or to standard output. Services may use
the storage: every pet acknowledged before the start is written, later ones may be. API keys are not exported.

  --from URL   sqlite:PATH or mongodb://HOST/DATABASE (default: DATABASE_URL)
  FILE         is written as FILE.partial and renamed when it is complete. It replaces an older FILE and takes over its
               permissions; a new FILE is readable by its owner only. After an interruption, the same command continues
               FILE.partial. It refuses a FILE.partial that belongs to another export.
`;

export const exportCommand: Command = {
  name: 'export',
  usage: USAGE,
  options: ['from'],
  maxPositionals: 1,
  async run({ options: { from }, positionals: [file] }, session) {
    await using opened = new AsyncDisposableStack();
    const storage = await storageOf('--from', from, session).openForReading();
    opened.adopt(storage, (source) => source.close());
    const resolve = compose({ sourceArchive: storage.archive });
    const count = await (file === undefined
      ? toStandardOutput(resolve, session)
      : toFile(resolve, file, session));
    // Not to standard output, which may be the export.
    session.note(`exported ${countText(count, 'pet')}`);
  },
};

async function toStandardOutput(resolve: Resolve, session: Session): Promise<number> {
  session.hint = 'the output is incomplete; run the command again from the beginning';
  let count = 0;
  for await (const pets of resolve('exportPets').execute(0n, session.onProgress)) {
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
  for await (const pets of resolve('exportPets').execute(delivered?.last.id ?? 0n, session.onProgress)) {
    await file.append(pets);
    count += pets.length;
  }
  await file.complete();
  return count;
}
