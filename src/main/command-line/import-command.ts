import { PetFile } from '../../adapters/ndjson/pet-file.ts';
import { compose } from '../compose.ts';
import type { Command } from './command.ts';
import { storageOf } from './command-storage.ts';
import { copiedText } from './count-text.ts';
import { UsageError } from './usage-error.ts';

const USAGE = `Usage: npm run petstore -- import FILE [--to URL]

Copies the pets of FILE, as export has written it, into a storage. Pets keep their ids, and the storage never gives
these ids to new pets. FILE and the pets in the storage are checked first: on any error, nothing is written. After an
interruption, run the same command again to continue.

  FILE       one JSON object a line, in ascending order of id:
             {"id":1,"name":"Rex","categoryId":7,"status":"available"}
  --to URL   sqlite:PATH, which no service may use at the same time, or mongodb://HOST/DATABASE
             (default: DATABASE_URL)
`;

export const importCommand: Command = {
  name: 'import',
  usage: USAGE,
  options: ['to'],
  maxPositionals: 1,
  async run({ options: { to }, positionals: [path] }, session) {
    if (path === undefined) throw new UsageError('FILE is missing');
    const storage = storageOf('--to', to, session);
    await using opened = new AsyncDisposableStack();
    const source = opened.adopt(await PetFile.open(path), (file) => file.close());
    const { archive } = opened.adopt(await storage.openForWriting(), (target) => target.close());
    session.hint = 'run the same command again to continue; what is imported stays';
    const copied = await compose({ source, archive })('copyPets').execute(session.onProgress);
    await session.print(copiedText('imported', copied));
  },
};
