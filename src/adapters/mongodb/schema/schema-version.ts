import type { Db } from 'mongodb';
import { isSea } from 'node:sea';
import { versionsOf } from './collections.ts';

/** The version that this build reads and writes. A change that an older build cannot work with increments it. */
export const SCHEMA_VERSION = 3;

/** Ends every message about a schema that a migration repairs. A single executable is named as it was called. */
export const MIGRATE_HINT = `run: ${isSea() ? process.argv0 : 'npx petstore'} migrate`;

/** @returns `undefined` for a database that was never migrated */
export async function readVersion(db: Db): Promise<number | undefined> {
  const found = await versionsOf(db).findOne({ _id: 'petstore' });
  return found?.version;
}

/** @returns what the operator must do, in one line; `undefined` for the version that this build needs */
export function versionProblem(version: number | undefined, database: string): string | undefined {
  if (version === SCHEMA_VERSION) return undefined;
  if (version === undefined) return `the database "${database}" has no petstore schema; ${MIGRATE_HINT}`;
  const is = `the database "${database}" has schema version ${version}, this build needs ${SCHEMA_VERSION}`;
  return version < SCHEMA_VERSION ? `${is}; ${MIGRATE_HINT}` : `${is}; run a newer build of petstore`;
}
