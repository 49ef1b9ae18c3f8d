import { copyFile, readdir, readlink, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ask } from './ask.ts';
import type { Scenario } from './scenario.ts';
import { startServiceOn, type SqliteStore } from './sqlite-store.ts';
import { until } from './until.ts';

/** Removes the file while the service has it open. The content can then be copied from `/proc/PID/fd`. */
const removeFile: Scenario<SqliteStore> = {
  name: 'SQLite: the file removed under load, and saved from /proc',
  async play(stage, store) {
    if (process.platform !== 'linux') {
      stage.skipReason = 'only Linux gives access to an open file without a name';
      return;
    }
    const service = await startServiceOn(stage, store);
    const load = await stage.startLoad([service]);
    await stage.letRun(2);
    load.beginFault();
    await rm(store.file);
    // Requests fail with 503. Soon `/readyz` answers 503, too. `/livez` continues to answer 200.
    await load.waitFor503();
    const beginMs = performance.now();
    await until('/readyz answers 503', async () => (await ask(`${service.url}/readyz`)).status === 503);
    stage.expectAtMost('until /readyz failed', performance.now() - beginMs, 2_000);
    await stage.expectAlive(service);
    await copyFile(await findDescriptor(service.pid, `${store.file} (deleted)`), `${store.file}-saved`);
    await service.terminate();
    await rename(`${store.file}-saved`, store.file);
    await service.start();
    load.endFault();
    await stage.letRun(2);
  },
};

async function findDescriptor(pid: number, target: string): Promise<string> {
  const directory = `/proc/${pid}/fd`;
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    // A descriptor may be closed between `readdir` and `readlink`.
    if ((await readlink(path).catch(() => '')) === target) return path;
  }
  throw new Error(`the service has no ${target} open`);
}

export const SQLITE_FILE_SCENARIOS: readonly Scenario<SqliteStore>[] = [removeFile];
