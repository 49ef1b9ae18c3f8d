import { execFile } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { slowFlushVariables } from '../../test/support/slow-flush.ts';
import { runAtProcessEnd } from '../../test/support/after-death.ts';
import { killServices } from './kill-service.ts';
import type { Scenario } from './scenario.ts';
import { startServiceOn, type SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { readAllPages } from './walk.ts';

const runProgram = promisify(execFile);

const kill: Scenario<SqliteStore> = {
  name: 'SQLite: kill -9 of the service, most often between commits and their flushes, twenty times',
  async play(stage, store) {
    // With slow flushes, a kill most often comes while clients wait for a flush.
    const slowFlushEnv = await slowFlushVariables(store.directory, 50).catch((error: unknown) => {
      stage.notes.push(`flushes cannot be slowed down here: ${String(error).split('\n')[0]}`);
      return {};
    });
    const service = await stage.startService({ DATABASE_URL: `sqlite:${store.file}`, ...slowFlushEnv });
    await killServices(stage, [service], { times: 20, everySeconds: 0.3 });
  },
};

const fullDisk: Scenario<SqliteStore> = {
  name: 'SQLite: the disk is full for a while',
  async play(stage, store) {
    if (!(await mountSmallDisk(stage, store.directory))) return;
    const service = await startServiceOn(stage, store);
    const load = await stage.startLoad([service]);
    await stage.letRun(2);
    load.beginFault();
    const ballast = join(store.directory, 'ballast');
    await fillDisk(ballast);
    await load.waitFor503();
    await stage.letRun(3);
    await stage.expectAlive(service);
    const pets = (await readAllPages(service.url)).flatMap((page) => page.pets ?? []);
    stage.expect('pets can be read while the disk is full', pets.length >= load.acknowledgedCount);
    const freedMs = performance.now();
    await rm(ballast);
    await stage.expectRecovery(load, freedMs);
    await stage.letRun(2);
  },
};

const DISK_BYTES = 8 * 1024 * 1024;

/**
 * Mounts a disk of 8 MiB on the directory.
 *
 * @returns whether this machine permits the mount
 */
export async function mountSmallDisk(stage: Stage, directory: string): Promise<boolean> {
  try {
    await runProgram('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'petstore-failure', directory]);
  } catch (error) {
    stage.skipReason = `no small disk can be mounted here (that needs root): ${String(error).split('\n')[0]}`;
    return false;
  }
  const cleanUp = runAtProcessEnd(['umount', '--lazy', directory]);
  stage.resources.defer(async () => {
    await runProgram('umount', ['--lazy', directory]);
    cleanUp.cancel();
  });
  return true;
}

/** Writes to the file at `path` until its disk is full. */
export async function fillDisk(path: string): Promise<void> {
  const block = Buffer.alloc(4096);
  for (;;) {
    try {
      await appendFile(path, block);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}

export const SQLITE_SCENARIOS: readonly Scenario<SqliteStore>[] = [kill, fullDisk];
