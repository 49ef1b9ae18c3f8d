import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { STORAGES } from '../src/main/config/storages.ts';
import { PLAYS_ON } from './failure/scenarios.ts';
import { SCENARIOS_ON } from './simulation/scenarios.ts';

/** Where the records of a storage are damaged. */
const DAMAGED_IN: Readonly<Record<string, string | undefined>> = {
  SQLite: 'flipped-bytes.test.ts',
  MongoDB: 'wrong-documents.test.ts',
  // Nothing outlives the process.
  memory: undefined,
};

it.each([
  ['the failure suite', PLAYS_ON],
  ['the simulation', SCENARIOS_ON],
  ['the damage', DAMAGED_IN],
])('%s says what it tries on every storage that a URL can name', (_, byStorage) => {
  expect(Object.keys(byStorage).toSorted()).toStrictEqual(STORAGES.map(({ name }) => name).toSorted());
});

it('the files that damage records are there', () => {
  const files = Object.values(DAMAGED_IN).filter((file) => file !== undefined);
  for (const file of files) expect(existsSync(new URL(`./damage/${file}`, import.meta.url)), file).toBe(true);
});
