import { ArchiveSource } from '../../application/moving/archive-source.ts';
import { CopyKeys } from '../../application/moving/copy-keys.ts';
import { type Copied, CopyPets } from '../../application/moving/copy-pets.ts';
import { openCommandLog } from '../log/command-log.ts';
import { UsageError } from './usage-error.ts';
import { openSource, openTarget } from './archives.ts';
import { auditKey } from './audited-keys.ts';
import type { Command } from './command.ts';
import { print } from './print.ts';

const HELP = `Usage: npm run petstore -- copy --from URL --to URL

Copies every pet and every API key from one storage to another. Pets keep their ids, and no other pet ever gets one of
them. What the target has already is compared first: when another pet stands in the way, no pet is written. Keys stay
valid, so that clients notice nothing; to copy pets alone use export and import. After an interruption run the same
command again.

  --from URL   sqlite:PATH or mongodb://HOST/DATABASE. A service may go on using it: every pet that was acknowledged
               before the start is copied. Later ones may not be, so stop the service before the last copy
  --to URL     sqlite:PATH, which no service may be using meanwhile, or mongodb://HOST/DATABASE
`;

export const copyCommand: Command = {
  help: HELP,
  options: ['from', 'to'],
  takesFile: false,
  async run({ from, to }, talk) {
    if (from === undefined || to === undefined) {
      throw new UsageError('--from and --to must both be given', 'copy ');
    }
    const source = await openSource(from, '--from');
    try {
      const target = await openTarget(to, '--to');
      try {
        talk.ifInterrupted('run the same command again to go on; what is there already stays');
        const copied = await new CopyPets(new ArchiveSource(source.archive), target.archive).execute(
          talk.progress.update,
        );
        talk.progress.clear();
        await tellCopied('copied', copied);
        const keys = await new CopyKeys(source.keys, target.keys).execute();
        if (keys.length > 0) {
          const log = await openCommandLog();
          for (const key of keys) auditKey(log, 'key.copied', key);
        }
        await print(`copied ${keys.length} API keys\n`);
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  },
};

export async function tellCopied(
  done: 'copied' | 'imported',
  { count, before, others }: Copied,
): Promise<void> {
  const known = before > 0 ? `; ${before} of them were there before` : '';
  const strange = others > 0 ? `; other pets between them: ${others}, left as they were` : '';
  await print(`${done} ${count} pets${known}${strange}\n`);
}
