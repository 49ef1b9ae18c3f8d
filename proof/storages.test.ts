import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { STORAGES } from '../src/main/config/storages.ts';
import { PLAYS_ON } from './failure/scenarios.ts';
import { SCENARIOS_ON } from './simulation/scenarios.ts';

/** By storage: the test in `proof/damage` that damages stored records of this storage. */
const DAMAGE_TESTS: Readonly<Record<string, string | undefined>> = {
  SQLite: 'flipped-bytes.test.ts',
  MongoDB: 'wrong-documents.test.ts',
  // No test, because this storage keeps nothing after the end of the process.
  memory: undefined,
};

it.each([
  ['failure suite', PLAYS_ON],
  ['simulation', SCENARIOS_ON],
  ['damage search', DAMAGE_TESTS],
])('the %s has an entry for each storage of the service, and no other', (_, byStorage) => {
  expect(Object.keys(byStorage).toSorted()).toStrictEqual(STORAGES.map(({ name }) => name).toSorted());
});

it('each test file that damages stored records exists', () => {
  const files = Object.values(DAMAGE_TESTS).filter((file) => file !== undefined);
  for (const file of files) expect(existsSync(new URL(`./damage/${file}`, import.meta.url)), file).toBe(true);
});
