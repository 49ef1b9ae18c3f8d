import { keysOnMongodb } from './keys-on-mongodb.ts';
import { petsOnMongodb } from './pets-on-mongodb.ts';
import { petsOnSqlite } from './pets-on-sqlite.ts';
import type { Scenario } from './run-schedule.ts';

/** What is ours and concurrent. */
export const SCENARIOS: readonly Scenario[] = [petsOnSqlite, petsOnMongodb, keysOnMongodb];
