import { PartialFile, petLines } from '../../adapters/ndjson/partial-file.ts';
import { PetFileError } from '../../adapters/ndjson/pet-file-error.ts';
import { ExportPets } from '../../application/moving/export-pets.ts';
import type { ReadablePetArchive } from '../../application/ports/pet-archive.ts';
import { ResumeExport } from '../../application/moving/resume-export.ts';
import { defaultUrl, openSource } from './archives.ts';
import type { Command, Talk } from './command.ts';

const HELP = `Usage: npm run petstore -- export [--from URL] [FILE]

Writes every pet as a line of JSON (NDJSON), in ascending order of id, to FILE or else to standard output. A service
may go on using the storage. Every pet that was acknowledged before the start is written; of the later ones some may be.

  --from URL   where the pets are: sqlite:PATH or mongodb://HOST/DATABASE; by default DATABASE_URL
  FILE         is written as FILE.partial and gets its name when it is complete, in place of an older one, whose
               permissions it gets; a new one is for its owner alone. After an interruption the same command goes on
               where FILE.partial ends; a FILE.partial that is something else is left as it is, and nothing is written.
`;

export const exportCommand: Command = {
  help: HELP,
  options: ['from'],
  takesFile: true,
  async run({ file, from }, talk) {
    const source = await openSource(from ?? defaultUrl(), from === undefined ? 'DATABASE_URL' : '--from');
    try {
      const count =
        file === undefined
          ? await toStandardOutput(source.archive, talk)
          : await toFile(source.archive, file, talk);
      talk.progress.clear();
      // Not to standard output, which may be the export.
      process.stderr.write(`exported ${count} pets\n`);
    } finally {
      await source.close();
    }
  },
};

async function toStandardOutput(archive: ReadablePetArchive, talk: Talk): Promise<number> {
  talk.ifInterrupted('what was written is not all; start again');
  // Whoever writes hears of it as well.
  process.stdout.on('error', () => {});
  let count = 0;
  for await (const pets of new ExportPets(archive).execute(0n, talk.progress.update)) {
    await print(petLines(pets));
    count += pets.length;
  }
  return count;
}

async function print(text: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(text, (error) => {
    if (error == null) resolve();
    else reject(new PetFileError('standard output', undefined, `cannot be written: ${error.message}`));
  });
  await promise;
}

async function toFile(archive: ReadablePetArchive, path: string, talk: Talk): Promise<number> {
  const file = await PartialFile.open(path);
  try {
    talk.ifInterrupted(`run the same command again to go on with ${file.path}`);
    const delivered = await file.delivered();
    if (delivered !== undefined) {
      if (!(await new ResumeExport(archive).execute(delivered))) throw file.misfit();
      await file.cut();
      process.stderr.write(`going on with ${file.path}, after ${delivered.count} pets\n`);
    }
    let count = delivered?.count ?? 0;
    const after = delivered?.last.id ?? 0n;
    for await (const pets of new ExportPets(archive).execute(after, talk.progress.update)) {
      await file.append(pets);
      count += pets.length;
    }
    await file.complete();
    return count;
  } finally {
    await file.close();
  }
}
