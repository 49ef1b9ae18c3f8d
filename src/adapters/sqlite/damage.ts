import { statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isDamaged } from '../../application/pets/parse-stored-pet.ts';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { StorageInspector } from '../../application/ports/storage-health.ts';
import { MAX_PET_ID } from '../../domain/pet.ts';
import { fileOf } from './connection.ts';
import { retryAndTranslate } from './errors.ts';
import { type PetRow, toArchivedPet } from './pet-row.ts';
import { migrateSchema, readVersion } from './schema.ts';
import { ARCHIVE_STATEMENTS, COUNTER_QUERY } from './statements.ts';

/**
 * Each start checks every file up to this size in full, which takes 0.5 s. 16 MiB are 150,000 pets with an idempotency
 * key each. `petstore check` checks larger files.
 */
const MAX_CHECKED_BYTES = 16 * 1024 * 1024;

/** A value that breaks a rule of its table. Every read of the row reports this. */
const ROW_FINDING = /^(?:NULL|non-\w+|TEXT|NUMERIC) value in |^CHECK constraint failed in /;

/** https://www.sqlite.org/pragma.html#pragma_integrity_check counts the rows of the table from 1. */
const MISSING_FROM_INDEX = /^row (\d+) missing from index pets_/;

/**
 * Returns the damage of pages, indexes and schema, if possible in the words of SQLite, which stops after 100 findings.
 * Leaves out single rows, because every read of such a row reports the damage.
 */
function damageOf(db: DatabaseSync): readonly string[] {
  const findings = findingsOf(db).filter((text) => !ROW_FINDING.test(text) && !isOfDamagedPet(db, text));
  return [...findings, ...schemaProblems(db)];
}

/**
 * Refuses a file with another schema than its version has, and a small file with damage that requests might not notice,
 * such as a missing pet or a lost index entry.
 *
 * @throws {StorageSetupError}
 */
export function refuseDamaged(db: DatabaseSync): void {
  const file = fileOf(db);
  const [problem] = statSync(file).size > MAX_CHECKED_BYTES ? schemaProblems(db) : damageOf(db);
  if (problem === undefined) return;
  throw new StorageSetupError(`the SQLite file ${file} is damaged (${problem}); restore a backup`);
}

/** Whether a check finds no damage, or only damage in single rows. */
export function isSound(db: DatabaseSync): boolean {
  return findingsOf(db).every((text) => ROW_FINDING.test(text));
}

function findingsOf(db: DatabaseSync): readonly string[] {
  const findings = db.prepare('PRAGMA integrity_check').all();
  return findings.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok');
}

/** If a row differs from its index in a status or a key, the checksum shows whether the row is wrong. */
function isOfDamagedPet(db: DatabaseSync, problem: string): boolean {
  const position = MISSING_FROM_INDEX.exec(problem)?.[1];
  if (position === undefined) return false;
  const nth = db.prepare(ARCHIVE_STATEMENTS.nth, { returnArrays: true });
  const row = nth.get(BigInt(position) - 1n) as unknown as PetRow | undefined;
  return row !== undefined && isDamaged(() => toArchivedPet(row));
}

export function schemaProblems(db: DatabaseSync): readonly string[] {
  using model = new DatabaseSync(':memory:', { readBigInts: true });
  migrateSchema(model, readVersion(db));
  const findStored = db.prepare('SELECT sql FROM sqlite_schema WHERE name = ?');
  const expectedObjects = model.prepare('SELECT type, name, sql FROM sqlite_schema').all();
  return expectedObjects.flatMap(({ type, name = null, sql }) => {
    const row = findStored.get(name);
    if (row === undefined) return [`the ${String(type)} ${String(name)} is missing`];
    return row['sql'] === sql ? [] : [`the ${String(type)} ${String(name)} has another definition`];
  });
}

/** The check blocks the event loop, for about 3 s with a million pets. */
export function sqliteInspector(db: DatabaseSync): StorageInspector {
  return {
    async *findings() {
      for (const problem of await retryAndTranslate(() => damageOf(db))) yield { about: 'file', problem };
      const problem = await retryAndTranslate(() => counterProblem(db));
      if (problem !== undefined) yield { about: 'counter of pet ids', problem };
    },
  };
}

function counterProblem(db: DatabaseSync): string | undefined {
  const query = db.prepare(COUNTER_QUERY, { returnArrays: true });
  const [assigned, reserved, greatestId] = query.get() as unknown as readonly [unknown, unknown, bigint];
  // The first pet or the first reservation creates the counter.
  if (assigned === null && reserved === 0n && greatestId === 0n) return undefined;
  if (!isId(assigned)) return `it must be an integer from 0 to ${MAX_PET_ID}`;
  if (assigned < greatestId) return `it is ${assigned}, less than the greatest id of a pet, ${greatestId}`;
  if (!isId(reserved)) return `the reserved id must be an integer from 0 to ${MAX_PET_ID}`;
  if (assigned < reserved) return `it is ${assigned}, less than the reserved id ${reserved}`;
  return undefined;
}

function isId(value: unknown): value is bigint {
  return typeof value === 'bigint' && value >= 0n && value <= MAX_PET_ID;
}
