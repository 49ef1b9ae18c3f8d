import { DatabaseSync } from 'node:sqlite';
import { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import { type Places, storedPet } from './stored-pet.ts';

export type SqliteStore = {
  /** Used by this scenario only. */
  readonly directory: string;
  readonly file: string;
};

const envOf = (file: string) => ({ DATABASE_URL: `sqlite:${file}` });

export function serviceOn(stage: Stage, { file }: SqliteStore, uid?: number): Promise<ServiceProcess> {
  return stage.service(envOf(file), { uid });
}

/** Starts a service on a file that it must refuse. It says why in one line that names the file. */
export async function refusesToStart(
  stage: Stage,
  what: string,
  file: string,
  { because, uid }: { readonly because: RegExp; readonly uid?: number | undefined },
): Promise<void> {
  const { code, stderr } = await ServiceProcess.refused(envOf(file), { uid });
  const isOneLine = /^petstore: [^\n]+\n$/.test(stderr) && stderr.includes(file);
  stage.expect(
    `a service on ${what} ends with code 1 and one line (it was ${code}: ${stderr.trim()})`,
    code === 1 && isOneLine && because.test(stderr),
  );
}

type Row = {
  readonly id: bigint;
  readonly name: string;
  readonly category_id: bigint;
  readonly status: string;
};

/** The pets in the file, read without the service. */
export async function surveyFile({ file }: SqliteStore): Promise<Places> {
  using db = new DatabaseSync(file, { readOnly: true, readBigInts: true, timeout: 5_000 });
  const check = db.prepare('PRAGMA integrity_check').all();
  if (JSON.stringify(check) !== '[{"integrity_check":"ok"}]') throw new Error(JSON.stringify(check));
  const rows = db.prepare('SELECT id, name, category_id, status FROM pets').all() as Row[];
  const pets = rows.map(({ category_id: categoryId, ...pet }) => storedPet({ ...pet, categoryId }));
  return new Map([['the file', pets]]);
}
