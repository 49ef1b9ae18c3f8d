import type { Db } from 'mongodb';
import { FIRST_SCHEMA_VERSION, versionAdvice } from '../../../application/ports/storage-errors.ts';
import { SCHEMA } from './collection-plans.ts';
import { versionsOf } from './collections.ts';

export const DEFAULT_PROGRAM = 'petstore';

export type StoredSchema = Awaited<ReturnType<typeof readSchema>>;

/**
 * @returns `version`: `undefined` before the first migration; `isEarlier`: this build can migrate the schema;
 *   `isLater`: a later build has begun a step, so this build cannot judge the schema
 */
export async function readSchema(db: Db) {
  const { version, step = 0, begun = 0 } = (await versionsOf(db).findOne({ _id: 'petstore' })) ?? {};
  const isReleased = version !== undefined && version >= FIRST_SCHEMA_VERSION;
  const isEarlier = isReleased && (version < SCHEMA.version || step < SCHEMA.step);
  const last = Math.max(step, begun);
  return { version, step, last, isEarlier, isLater: isReleased && last > SCHEMA.step };
}

export function versionProblem(stored: StoredSchema, databaseName: string, migration: string) {
  const { version, step, isEarlier } = stored;
  const database = `the database "${databaseName}"`;
  if (version === undefined) return `${database} has no petstore schema; run: ${migration}`;
  if (!isEarlier && SCHEMA.accepts.includes(version)) return undefined;
  if (version !== SCHEMA.version)
    return versionAdvice(database, version, SCHEMA.version, `run: ${migration}`);
  return `${database} has step ${step} of its schema, this build needs step ${SCHEMA.step}; run: ${migration}`;
}
