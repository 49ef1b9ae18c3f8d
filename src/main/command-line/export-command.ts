import { petLines } from '../../adapters/ndjson/pet-line.ts';
import { writePetFile } from '../../adapters/ndjson/pet-file.ts';
import { compose } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { countText } from './count-text.ts';
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
    session.hint = isPiped
      ? 'the output is incomplete; run the command again from the beginning'
      : 'no file was written; run the same command again';
    let pets = 0;
    const batches = async function* () {
      for await (const batch of resolve('exportPets').execute(session.onProgress)) {
        yield batch;
        pets += batch.length;
      }
    };
    if (!isPiped) await writePetFile(file, batches());
    else for await (const batch of batches()) await session.write(petLines(batch));
    if (given.json) await session.print(`${JSON.stringify({ file, pets })}\n`);
    // Not to standard output, which may hold the export.
    else session.note(`exported ${countText(pets, 'pet')}`);
  },
};
