import { SKIPPED_PET_IDS } from '../../domain/pet.ts';
import { compose } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';

export const skipIdsCommand: Command = {
  async run(given, session) {
    const storage = storageOf('URL', given.positionals[0], session);
    // Refuses a missing SQLite file, which opening it for writing would create.
    const existing = await storage.openForReading();
    await existing.close();
    await using opened = new AsyncDisposableStack();
    const { archive } = opened.adopt(await storage.openForWriting(), (target) => target.close());
    session.hint = 'ids may have been skipped; run the same command again';
    const upTo = await compose({ archive })('skipIds').execute();
    const text = `skipped ${SKIPPED_PET_IDS} ids; new pets get ids greater than ${upTo}\n`;
    await session.answer(given, text, { skipped: Number(SKIPPED_PET_IDS), upTo: Number(upTo) });
  },
};
