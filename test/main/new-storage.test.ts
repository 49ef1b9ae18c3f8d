// These tests follow the last steps for a new storage in docs/explanation/architecture.md. Their new storage is in
// memory, and only the tests know it.
import { expect, it } from 'vitest';
import { readConfig } from '../../src/main/config/config.ts';
import { parseDatabaseUrl, STORAGES } from '../../src/main/config/storages.ts';
import { runCommand } from '../support/command.ts';
import { readDocument } from '../support/document.ts';
import { SlowStorages } from '../support/slow-storages.ts';

/** The list in src/main/config/storages.ts with the entry for the new storage. */
const storages = [...STORAGES, new SlowStorages().kind];

// test/main/command-line/slow-storages.test.ts tests every command, and the service, with this storage.
it('a new storage keeps the data that the commands write to it', async () => {
  const runPetstore = async (...args: string[]) => {
    return (await runCommand(args, { DATABASE_URL: 'slow:one' }, { storages })).stdout;
  };
  expect(await runPetstore('import', 'examples/pets.ndjson')).toBe('imported 300 pets\n');
  await runPetstore('keys', 'create', '--label', 'till');
  const copyOutput = await runPetstore('copy', '--from', 'slow:one', '--to', 'slow:two');
  expect(copyOutput).toBe('copied 300 pets\ncopied 1 API key\n');
  expect(await runPetstore('export', '--from', 'slow:two')).toBe(await readDocument('examples/pets.ndjson'));
});

it('a storage that is not in the list of storages is unknown', () => {
  expect(parseDatabaseUrl('slow:one', STORAGES)).toBeUndefined();
  expect(() => readConfig({ DATABASE_URL: 'slow' }, storages)).toThrow(
    'DATABASE_URL must be sqlite:PATH, mongodb://HOST/DATABASE, memory: or slow:NAME',
  );
});
