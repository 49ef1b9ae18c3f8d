import { DatabaseSync } from 'node:sqlite';
import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import { type PetsByPlace, storedPet } from './stored-pet.ts';

export type SqliteStore = {
  /** A directory that only this scenario uses. */
  readonly directory: string;
  readonly file: string;
};

export function startServiceOn(stage: Stage, { file }: SqliteStore): Promise<ServiceProcess> {
  return stage.startService({ DATABASE_URL: `sqlite:${file}` });
}

type Row = {
  readonly id: bigint;
  readonly name: string;
  readonly category_id: bigint;
  readonly status: string;
};

/** The pets in the file, read without the service. */
export async function surveyFile({ file }: SqliteStore): Promise<PetsByPlace> {
  using db = new DatabaseSync(file, { readOnly: true, readBigInts: true, timeout: 5_000 });
  const check = db.prepare('PRAGMA integrity_check').all();
  if (JSON.stringify(check) !== '[{"integrity_check":"ok"}]') throw new Error(JSON.stringify(check));
  const rows = db.prepare('SELECT id, name, category_id, status FROM pets').all() as Row[];
  const pets = rows.map(({ category_id: categoryId, ...pet }) => storedPet({ ...pet, categoryId }));
  return new Map([['the file', pets]]);
}
