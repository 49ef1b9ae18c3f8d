import type { ApiKey } from '../../domain/api-key.ts';
import { compose } from '../compose.ts';
import { openCommandLog } from '../log/command-log.ts';
import { auditKey } from './audited-keys.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { copiedText, countText } from './count-text.ts';
import type { Session } from './session.ts';
import { UsageError } from './usage-error.ts';

const USAGE = `Usage: npm run petstore -- copy --from URL --to URL

Copies all pets and API keys from one storage to another. Pets keep their ids, and the target never gives these ids to
new pets. API keys stay valid: clients need no new ones. To copy pets without keys, use export and import.

The target may already contain pets and keys. If one of them conflicts with the source, nothing is written. After an
interruption, run the same command again to continue.

  --from URL   sqlite:PATH or mongodb://HOST/DATABASE. Services may use it: every pet acknowledged before the start
               is copied. Later ones may be missing, so stop the services before the last copy
  --to URL     sqlite:PATH, which no service may use at the same time, or mongodb://HOST/DATABASE
`;

export const copyCommand: Command = {
  name: 'copy',
  usage: USAGE,
  options: ['from', 'to'],
  maxPositionals: 0,
  async run({ options: { from, to } }, session) {
    if (from === undefined || to === undefined) throw new UsageError('--from and --to are both required');
    const sourceStorage = storageOf('--from', from, session);
    const targetStorage = storageOf('--to', to, session);
    await using opened = new AsyncDisposableStack();
    const source = opened.adopt(await sourceStorage.openForReading(), (storage) => storage.close());
    const target = opened.adopt(await targetStorage.openForWriting(), (storage) => storage.close());
    const resolve = compose({
      sourceArchive: source.archive,
      sourceKeys: source.keys,
      archive: target.archive,
      keys: target.keys,
    });
    session.hint = 'run the same command again to continue; what is copied stays';
    // Refuses a conflict of keys before the first pet is written.
    await resolve('copyKeys').check();
    await session.print(copiedText('copied', await resolve('copyPets').execute(session.onProgress)));
    const keys = await resolve('copyKeys').execute();
    await audit(keys, session);
    await session.print(`copied ${countText(keys.length, 'API key')}\n`);
  },
};

async function audit(keys: readonly ApiKey[], session: Session): Promise<void> {
  if (keys.length === 0) return;
  const log = await openCommandLog(session.stderr);
  for (const key of keys) auditKey(log, 'key.copied', key);
}
