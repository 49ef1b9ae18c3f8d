import type { Finding } from '../../application/ports/storage-health.ts';
import { compose } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { countText } from './count-text.ts';
import { StorageUnsound } from './storage-unsound.ts';
import { UsageError } from './usage-error.ts';

/** How many findings are shown. A storage can have one for each pet. */
const MAX_SHOWN = 100;

export const checkCommand: Command = {
  async run(given, session) {
    const storage = storageOf('--from', given.options.from, session);
    if (storage.openForChecking === undefined) throw new UsageError('check is for SQLite and MongoDB');
    await using opened = new AsyncDisposableStack();
    const source = opened.adopt(await storage.openForChecking(), (checkable) => checkable.close());
    session.hint = 'the check is incomplete; nothing was changed';
    const { archive: sourceArchive, keys: sourceKeys, inspector } = source;
    const check = compose({ sourceArchive, sourceKeys, inspector })('checkStorage').execute(
      session.onProgress,
    );
    const shown: Finding[] = [];
    let count = 0;
    let next = await check.next();
    for (; !next.done; next = await check.next()) {
      count++;
      if (shown.length < MAX_SHOWN) shown.push(next.value);
    }
    const { pets, apiKeys } = next.value;
    const more = count - shown.length;
    const lines = shown.map(({ about, problem }) => `${about}: ${problem}\n`).join('');
    const rest = more === 0 ? '' : `and ${countText(more, 'further problem')}\n`;
    const checked = `checked ${countText(pets, 'pet')} and ${countText(apiKeys, 'API key')}\n`;
    await session.answer(given, lines + rest + checked, { pets, apiKeys, findings: shown, more });
    if (count > 0) throw new StorageUnsound(count);
  },
};
