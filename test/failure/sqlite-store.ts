import { DatabaseSync } from 'node:sqlite';
import { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';
import type { Places } from './verdict.ts';

export type SqliteStore = {
  /** The directory is the scenario's own. */
  readonly directory: string;
  readonly file: string;
};

const envOf = (file: string) => ({ DATABASE_URL: `sqlite:${file}` });

export function serviceOn(stage: Stage, { file }: SqliteStore, user?: number): Promise<ServiceProcess> {
  return stage.service(envOf(file), user);
}

/** A service that is started on a file that it must not take: it says why, in one line that names the file. */
export async function refusesToStart(
  stage: Stage,
  what: string,
  file: string,
  { because, user }: { readonly because: RegExp; readonly user?: number | undefined },
): Promise<void> {
  const { code, stderr } = await ServiceProcess.refused(envOf(file), user);
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

/** What the file holds, read by another program than the service. */
export async function surveyFile({ file }: SqliteStore): Promise<Places> {
  using db = new DatabaseSync(file, { readOnly: true, readBigInts: true, timeout: 5_000 });
  const check = db.prepare('PRAGMA integrity_check').all();
  if (JSON.stringify(check) !== '[{"integrity_check":"ok"}]') throw new Error(JSON.stringify(check));
  const rows = db.prepare('SELECT id, name, category_id, status FROM pets').all() as Row[];
  const pets = rows.map(({ id, name, category_id: categoryId, status }) => ({
    name,
    json: `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`,
  }));
  return new Map([['the file', pets]]);
}
