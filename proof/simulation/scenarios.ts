import { keysOnMongodb } from './keys-on-mongodb.ts';
import { petsOnMongodb } from './pets-on-mongodb.ts';
import { petsOnSqlite } from './pets-on-sqlite.ts';
import type { Scenario } from './run-schedule.ts';

/** By storage: the parts of the project with concurrent calls, which the simulation tests. */
export const SCENARIOS_ON: Readonly<Record<string, readonly Scenario[]>> = {
  SQLite: [petsOnSqlite],
  MongoDB: [petsOnMongodb, keysOnMongodb],
  // No scenario: this adapter finishes each call before the call returns, so no two calls overlap.
  memory: [],
};

export const SCENARIOS = Object.values(SCENARIOS_ON).flat();
