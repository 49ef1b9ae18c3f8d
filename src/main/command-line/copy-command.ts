import type { ApiKey } from '../../domain/api-key.ts';
import { compose } from '../compose.ts';
import { auditKey } from '../log/audit.ts';
import { openCommandLog } from '../log/open-log.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { copiedJson, copiedText, countText } from './count-text.ts';
import type { Session } from './session.ts';
import { UsageError } from './usage-error.ts';

export const copyCommand: Command = {
  async run(given, session) {
    const { from: fromUrl, to: toUrl } = given.options;
    if (fromUrl === undefined || toUrl === undefined)
      throw new UsageError('--from and --to are both required');
    const sourceStorage = storageOf('--from', fromUrl, session);
    const targetStorage = storageOf('--to', toUrl, session);
    await using opened = new AsyncDisposableStack();
    const source = opened.adopt(await sourceStorage.openForReading(), (storage) => storage.close());
    const from = { sourceArchive: source.archive, sourceKeys: source.keys };
    // Before the target is opened, which creates a missing SQLite file.
    await compose(from)('checkSource').execute(session.onProgress);
    const target = opened.adopt(await targetStorage.openForWriting(), (storage) => storage.close());
    const resolve = compose({ ...from, archive: target.archive, keys: target.keys });
    session.hint = 'run the same command again to continue; what is copied stays';
    // Finds a conflict between keys before the first pet is written.
    await resolve('copyKeys').check();
    const copied = await resolve('copyPets').execute(session.onProgress);
    if (!given.json) await session.print(copiedText('copied', copied));
    const keys = await resolve('copyKeys').execute();
    await audit(keys, session);
    const text = `copied ${countText(keys.length, 'API key')}\n`;
    await session.answer(given, text, { pets: copiedJson(copied), apiKeys: keys.length });
  },
};

async function audit(keys: readonly ApiKey[], session: Session): Promise<void> {
  if (keys.length === 0) return;
  const log = await openCommandLog(session.stderr);
  for (const key of keys) auditKey(log, 'key.copied', key);
}
