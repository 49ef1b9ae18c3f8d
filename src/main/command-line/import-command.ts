import { PetFile } from '../../adapters/ndjson/pet-file.ts';
import { CopyPets } from '../../application/moving/copy-pets.ts';
import { UsageError } from './usage-error.ts';
import { defaultUrl, openTarget } from './archives.ts';
import type { Command } from './command.ts';
import { tellCopied } from './copy-command.ts';

const HELP = `Usage: npm run petstore -- import FILE [--to URL]

Brings the pets of FILE, as export has written it, into a storage. They keep their ids, and no other pet ever gets one
of them. All of FILE is checked first, and so is what the storage has already: when anything is wrong, nothing is
written. After an interruption run the same command again.

  FILE       a JSON object a line, in ascending order of id:
             {"id":1,"name":"Rex","categoryId":7,"status":"available"}
  --to URL   sqlite:PATH, which no service may be using meanwhile, or mongodb://HOST/DATABASE; by default DATABASE_URL
`;

export const importCommand: Command = {
  help: HELP,
  options: ['to'],
  takesFile: true,
  async run({ file: path, to }, talk) {
    if (path === undefined) throw new UsageError('FILE is missing', 'import ');
    const file = await PetFile.open(path);
    try {
      const target = await openTarget(to ?? defaultUrl(), to === undefined ? 'DATABASE_URL' : '--to');
      try {
        talk.ifInterrupted('run the same command again to go on; what is there already stays');
        const copied = await new CopyPets(file, target.archive).execute(talk.progress.update);
        talk.progress.clear();
        await tellCopied('imported', copied);
      } finally {
        await target.close();
      }
    } finally {
      await file.close();
    }
  },
};
