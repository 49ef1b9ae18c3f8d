import type { Db } from 'mongodb';
import { FIRST_SCHEMA_VERSION, versionAdvice } from '../../../application/ports/storage-errors.ts';
import { SCHEMA } from './collection-plans.ts';
import { versionsOf } from './collections.ts';

/** How a user calls the program, in messages about a schema that a migration repairs. */
export const DEFAULT_PROGRAM = 'petstore';

export type StoredSchema = {
  /** `undefined` for a database that was never migrated. */
  readonly version: number | undefined;
  /** The last step that is done. */
  readonly step: number;
  /** The last step that a migration has begun: the collections may already look like after it. */
  readonly begun: number;
};

export async function readSchema(db: Db): Promise<StoredSchema> {
  const { version, step = 0, begun = step } = (await versionsOf(db).findOne({ _id: 'petstore' })) ?? {};
  return { version, step, begun: Math.max(step, begun) };
}

/** Whether a later build has migrated, or has begun to: this build cannot tell what that build has made. */
export const isLater = ({ version, begun }: StoredSchema) => version !== undefined && begun > SCHEMA.step;

/** Whether a migration of this build can work with the version. */
export function isMigratable({ version = SCHEMA.version }: StoredSchema): boolean {
  return (version >= FIRST_SCHEMA_VERSION && version <= SCHEMA.version) || SCHEMA.accepts.includes(version);
}

/** @returns what the operator must do, in one line; `undefined` for a schema that this build can work with */
export function versionProblem({ version, step }: StoredSchema, databaseName: string, migration: string) {
  const database = `the database "${databaseName}"`;
  if (version === undefined) return `${database} has no petstore schema; run: ${migration}`;
  if (!SCHEMA.accepts.includes(version))
    return versionAdvice(database, version, SCHEMA.version, `run: ${migration}`);
  if (step >= SCHEMA.step) return undefined;
  return `${database} has step ${step} of schema version ${version}, this build needs step ${SCHEMA.step}; run: ${migration}`;
}
