// Follows the last steps for a new storage in docs/explanation/architecture.md, with one in memory that only the tests know.
import { expect, it } from 'vitest';
import { readConfig } from '../../src/main/config/config.ts';
import { parseDatabaseUrl, STORAGES } from '../../src/main/config/storages.ts';
import { succeeds } from '../support/command.ts';
import { readDocument } from '../support/document.ts';
import { SlowStorages } from '../support/slow-storages.ts';

/** With the line that a new storage adds to src/main/config/storages.ts. */
const storages = [...STORAGES, new SlowStorages().kind];

// test/main/command-line/slow-storages.test.ts has every command, and the service.
it('a new storage keeps the data that the commands write to it', async () => {
  const petstore = async (...args: string[]) => {
    return (await succeeds(args, { DATABASE_URL: 'slow:one' }, { storages })).stdout;
  };
  expect(await petstore('import', 'examples/pets.ndjson')).toBe('imported 300 pets\n');
  await petstore('keys', 'create', '--label', 'till');
  const copied = await petstore('copy', '--from', 'slow:one', '--to', 'slow:two');
  expect(copied).toBe('copied 300 pets\ncopied 1 API key\n');
  expect(await petstore('export', '--from', 'slow:two')).toBe(await readDocument('examples/pets.ndjson'));
});

it('a storage that is not in the list of storages is unknown', () => {
  expect(parseDatabaseUrl('slow:one', STORAGES)).toBeUndefined();
  expect(() => readConfig({ DATABASE_URL: 'slow' }, storages)).toThrow(
    'DATABASE_URL must be sqlite:PATH, mongodb://HOST/DATABASE, memory: or slow:NAME',
  );
});
