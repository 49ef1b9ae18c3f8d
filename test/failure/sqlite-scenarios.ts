import { execFile } from 'node:child_process';
import {
  appendFile,
  chmod,
  chown,
  copyFile,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { afterDeath } from '../support/after-death.ts';
import { figures } from './figures.ts';
import { killService } from './kill-service.ts';
import type { Scenario } from './scenario.ts';
import { refusesToStart, serviceOn, type SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { walk } from './walk.ts';

const run = promisify(execFile);

const IS_ROOT = process.geteuid?.() === 0;

/** Permissions do not apply to root, who therefore runs the service as `nobody`. */
const NOBODY_UID = IS_ROOT ? 65_534 : undefined;

const kill: Scenario<SqliteStore> = {
  name: 'SQLite: kill -9 of the service, three times',
  play: async (stage, store) => killService(stage, [await serviceOn(stage, store)]),
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

/** Stops the service under load, acts, and starts it again. */
async function whileStopped(
  stage: Stage,
  store: SqliteStore,
  act: () => Promise<void>,
  uid?: number,
): Promise<void> {
  const service = await serviceOn(stage, store, uid);
  const load = await stage.load([service]);
  await stage.letRun(2);
  load.fault();
  await stage.terminate(service);
  await act();
  await service.start();
  load.healed();
  await stage.letRun(2);
}

const readOnly: Scenario<SqliteStore> = {
  name: 'SQLite: a start on a read-only file, and in a read-only directory',
  async play(stage, store) {
    const { file, directory } = store;
    if (NOBODY_UID !== undefined) await chown(directory, NOBODY_UID, NOBODY_UID);
    const expected = { because: /permissions/, uid: NOBODY_UID };
    await whileStopped(
      stage,
      store,
      async () => {
        await chmod(file, 0o444);
        await refusesToStart(stage, 'a read-only file', file, expected);
        await chmod(file, 0o644);
        await chmod(directory, 0o555);
        await refusesToStart(stage, 'a file in a read-only directory', file, expected);
        await chmod(directory, 0o755);
      },
      NOBODY_UID,
    );
  },
};

const damaged: Scenario<SqliteStore> = {
  name: 'SQLite: starts on truncated and foreign files',
  async play(stage, store) {
    const path = (name: string) => join(store.directory, name);
    await whileStopped(stage, store, async () => {
      const { size } = await stat(store.file);
      for (const length of [size - 100, size - 4096, 4096, 10]) {
        const file = path(`cut-to-${length}.db`);
        await copyFile(store.file, file);
        await truncate(file, length);
        await expectLeftAlone(
          stage,
          `a file cut to ${length} of ${size} bytes`,
          file,
          /damaged|truncated|not a SQLite/,
        );
      }
      await writeFile(path('notes.txt'), 'Feed Rex. Call the vet about Mitzi.\n'.repeat(200));
      await expectLeftAlone(stage, 'a text file', path('notes.txt'), /not a SQLite database/);
      const other = new DatabaseSync(path('other.db'));
      other.exec('CREATE TABLE orders (id INTEGER PRIMARY KEY)');
      other.close();
      await expectLeftAlone(stage, "another application's database", path('other.db'), /another application/);
    });
  },
};

async function expectLeftAlone(stage: Stage, what: string, file: string, because: RegExp): Promise<void> {
  const before = await readFile(file);
  await refusesToStart(stage, what, file, { because });
  stage.expect(`${what} is left as it was`, before.equals(await readFile(file)));
}

const secondProcess: Scenario<SqliteStore> = {
  name: 'SQLite: a second service on the file, five times',
  async play(stage, store) {
    const load = await stage.load([await serviceOn(stage, store)]);
    await stage.letRun(1);
    load.fault();
    for (let round = 0; round < 5; round++) {
      await refusesToStart(stage, 'a file that is in use', store.file, { because: /in use by another/ });
    }
    load.healed();
    await stage.letRun(1);
    await load.stop();
    stage.bar('requests failed', figures(load.history).failedRequests, 0, '');
  },
};

export const SQLITE_SCENARIOS: readonly Scenario<SqliteStore>[] = [
  kill,
  fullDisk,
  readOnly,
  damaged,
  secondProcess,
];
