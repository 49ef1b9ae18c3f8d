import type { Db } from 'mongodb';
import { versionAdvice } from '../../../application/ports/storage-errors.ts';
import { versionsOf } from './collections.ts';

/** The version that this build reads and writes. A change that an older build cannot work with increments it. */
export const SCHEMA_VERSION = 4;

/** How a user calls the program, in messages about a schema that a migration repairs. */
export const DEFAULT_PROGRAM = 'petstore';

/** @returns `undefined` for a database that was never migrated */
export async function readVersion(db: Db): Promise<number | undefined> {
  return (await versionsOf(db).findOne({ _id: 'petstore' }))?.version;
}

/** @returns what the operator must do, in one line; `undefined` for the version that this build needs */
export function versionProblem(version: number | undefined, database: string, migration: string) {
  if (version === SCHEMA_VERSION) return undefined;
  if (version === undefined) return `the database "${database}" has no petstore schema; run: ${migration}`;
  return versionAdvice(`the database "${database}"`, version, SCHEMA_VERSION, `run: ${migration}`);
}
