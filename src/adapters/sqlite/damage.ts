import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isDamaged } from '../../application/pets/parse-stored-pet.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import { fileOf } from './connection.ts';
import { type ArchivedPetRow, petReader } from './pet-row.ts';
import { createSchema } from './schema.ts';
import { ARCHIVE_QUERIES } from './statements.ts';

/**
 * The largest file that is checked at every start. The check takes 0.5 s for 16 MiB, which is 150,000 pets with an
 * idempotency key each. For a larger file there is `petstore check`.
 */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/** A value that breaks a rule of its table. Reading its row reports the damage, so the other rows can be served. */
const ROW_FINDING = /^(?:NULL|non-\w+|TEXT|NUMERIC) value in |^CHECK constraint failed in /;

type Damage = {
  /** What is wrong, in the words of SQLite where it has found the damage. */
  readonly problem: string;
  /** Whether the damage is that of a single row, which every read of the row reports. */
  readonly isInRow: boolean;
};

/** https://www.sqlite.org/pragma.html#pragma_integrity_check counts the rows of the table from 1. */
const MISSING_FROM_INDEX = /^row (\d+) missing from index pets_/;

/**
 * What is wrong with the file: its pages, its indexes and its schema. SQLite stops after 100 findings. It does not
 * check the values in the rows, except by the rules of the tables.
 *
 * @throws the error of SQLite, if the damage prevents the check
 */
export function damageOf(db: DatabaseSync): readonly Damage[] {
  return [
    ...findingsOf(db).map((problem) => ({
      problem,
      isInRow: isRowFinding(problem) || isOfDamagedPet(db, problem),
    })),
    ...schemaProblems(db).map((problem) => ({ problem, isInRow: false })),
  ];
}

/**
 * Refuses a small file with damage that requests might not notice: a missing pet, a lost index entry, another schema.
 * Damaged rows are no reason, because reading them reports the damage.
 *
 * @throws {StorageSetupError}
 * @throws the error of SQLite
 */
export function refuseDamaged(db: DatabaseSync): void {
  const file = fileOf(db);
  if (statSync(file).size > MAX_CHECKED_BYTES) return;
  const [finding] = damageOf(db).filter(({ isInRow }) => !isInRow);
  if (finding === undefined) return;
  throw new StorageSetupError(`the SQLite file ${file} is damaged (${finding.problem}); restore a backup`);
}

/**
 * Whether a check of the whole file finds no damage beyond single rows.
 *
 * @throws the error of SQLite
 */
export function isSound(db: DatabaseSync): boolean {
  return findingsOf(db).every(isRowFinding);
}

function findingsOf(db: DatabaseSync): readonly string[] {
  const findings = db.prepare('PRAGMA integrity_check').all();
  return findings.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok');
}

/** Whether a finding of SQLite is about the value in a single row. */
export function isRowFinding(finding: string): boolean {
  return ROW_FINDING.test(finding);
}

/** A changed status or idempotency key differs from its index. The checksum of the row shows which of both is wrong. */
function isOfDamagedPet(db: DatabaseSync, problem: string): boolean {
  const position = MISSING_FROM_INDEX.exec(problem)?.[1];
  if (position === undefined) return false;
  const nth = db.prepare(ARCHIVE_QUERIES.nth, { returnArrays: true });
  const row = nth.get(BigInt(position) - 1n) as unknown as ArchivedPetRow | undefined;
  return row !== undefined && isDamaged(() => petReader(db).toArchivedPet(row));
}

/**
 * How the schema differs from that of this build. SQLite accepts any that it can parse, such as one with another CHECK.
 *
 * @throws the error of SQLite
 */
export function schemaProblems(db: DatabaseSync): readonly string[] {
  using model = new DatabaseSync(':memory:', { readBigInts: true });
  createSchema(model);
  const stored = new Map(objectsOf(db).map((object) => [object.name, object]));
  return objectsOf(model).flatMap(({ type, name, sql }) => {
    const found = stored.get(name);
    if (found === undefined) return [`the ${type} ${name} is missing`];
    return found.sql === sql ? [] : [`the ${type} ${name} has another definition`];
  });
}

type SchemaObject = { readonly type: string; readonly name: string; readonly sql: string | null };

function objectsOf(db: DatabaseSync): readonly SchemaObject[] {
  return db.prepare('SELECT type, name, sql FROM sqlite_schema').all() as SchemaObject[];
}
