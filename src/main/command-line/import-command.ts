import { PetFile } from '../../adapters/ndjson/pet-file.ts';
import { compose } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { copiedJson, copiedText } from './count-text.ts';

export const importCommand: Command = {
  async run(given, session) {
    const [path = '-'] = given.positionals;
    const storage = storageOf('--to', given.options.to, session);
    await using opened = new AsyncDisposableStack();
    const source = opened.adopt(
      await (path === '-' ? PetFile.keep(session.stdin()) : PetFile.open(path)),
      (file) => file.close(),
    );
    // Before the target is opened, which creates a missing SQLite file.
    await source.survey(session.onProgress);
    const { archive } = opened.adopt(await storage.openForWriting(), (target) => target.close());
    session.hint = 'run the same command again to continue; what is imported stays';
    const copied = await compose({ source, archive })('copyPets').execute(session.onProgress);
    await session.answer(given, copiedText('imported', copied), copiedJson(copied));
  },
};
