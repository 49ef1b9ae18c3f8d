import type { DatabaseSync } from 'node:sqlite';

/** A value that breaks a rule of its table. Reading its row reports the damage, so the other rows can be served. */
const ROW_FINDING = /^(?:NULL|non-\w+|TEXT|NUMERIC) value in |^CHECK constraint failed in /;

/**
 * Whether a check of the whole file finds no damage beyond single rows. `quick_check` takes a seventh of the time of
 * `integrity_check`, which also compares every index with its table.
 *
 * @throws the error of SQLite
 */
export function isSound(db: DatabaseSync, check: 'quick_check' | 'integrity_check'): boolean {
  const findings = db.prepare(`PRAGMA ${check}`).all();
  return findings.map((row) => String(row[check])).every((text) => text === 'ok' || isRowFinding(text));
}

/** Whether a finding of SQLite is about the value in a single row. */
export function isRowFinding(finding: string): boolean {
  return ROW_FINDING.test(finding);
}
