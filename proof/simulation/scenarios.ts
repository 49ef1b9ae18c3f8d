import { keysOnMongodb } from './keys-on-mongodb.ts';
import { petsOnMongodb } from './pets-on-mongodb.ts';
import { petsOnSqlite } from './pets-on-sqlite.ts';
import type { Scenario } from './run-schedule.ts';

/** What is ours and concurrent, by storage. */
export const SCENARIOS_ON: Readonly<Record<string, readonly Scenario[]>> = {
  SQLite: [petsOnSqlite],
  MongoDB: [petsOnMongodb, keysOnMongodb],
  // Each call is done before it returns.
  memory: [],
};

export const SCENARIOS = Object.values(SCENARIOS_ON).flat();
