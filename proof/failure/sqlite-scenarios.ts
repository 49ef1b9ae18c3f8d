import { execFile } from 'node:child_process';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { slowFlush } from '../../test/support/slow-flush.ts';
import { afterDeath } from '../../test/support/after-death.ts';
import { killService } from './kill-service.ts';
import type { Scenario } from './scenario.ts';
import { serviceOn, type SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { walk } from './walk.ts';

const run = promisify(execFile);

const kill: Scenario<SqliteStore> = {
  name: 'SQLite: kill -9 of the service, most often between commits and their flushes, twenty times',
  async play(stage, store) {
    // Clients that wait for their flush make sure that there is one.
    const slow = await slowFlush(store.directory, 50).catch((error: unknown) => {
      stage.notes.push(`flushes cannot be slowed down here: ${String(error).split('\n')[0]}`);
      return {};
    });
    const service = await stage.service({ DATABASE_URL: `sqlite:${store.file}`, ...slow });
    await killService(stage, [service], { times: 20, everySeconds: 0.3 });
  },
};

const fullDisk: Scenario<SqliteStore> = {
  name: 'SQLite: the disk is full for a while',
  async play(stage, store) {
    if (!(await mountSmallDisk(stage, store.directory))) return;
    const service = await serviceOn(stage, store);
    const load = await stage.load([service]);
    await stage.letRun(2);
    load.fault();
    const ballast = join(store.directory, 'ballast');
    await fill(ballast);
    await load.meets503();
    await stage.letRun(3);
    await stage.expectAlive(service);
    const pets = (await walk(service.url)).flatMap((page) => page.pets ?? []);
    stage.expect('pets could be read meanwhile', pets.length >= load.acknowledged);
    const freed = performance.now();
    await rm(ballast);
    await stage.resumes(load, freed);
    await stage.letRun(2);
  },
};

const DISK_BYTES = 8 * 1024 * 1024;

/** @returns whether this machine permits it */
export async function mountSmallDisk(stage: Stage, directory: string): Promise<boolean> {
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'petstore-failure', directory]);
  } catch (error) {
    stage.leftOut = `no small disk can be mounted here (that needs root): ${String(error).split('\n')[0]}`;
    return false;
  }
  const unmounting = afterDeath(['umount', '--lazy', directory]);
  stage.owned.defer(async () => {
    await run('umount', ['--lazy', directory]);
    unmounting.cancel();
  });
  return true;
}

/** Writes to the file until the disk is full. */
export async function fill(path: string): Promise<void> {
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
