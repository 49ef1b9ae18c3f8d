import { execFile } from 'node:child_process';
import { copyFile, readdir, readlink, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterDeath } from '../support/after-death.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { ask } from './ask.ts';
import type { Load } from './load.ts';
import type { Scenario } from './scenario.ts';
import type { ServiceProcess } from './service-process.ts';
import { serviceOn, type SqliteStore } from './sqlite-store.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

const run = promisify(execFile);

/** A file without a name is still open in the service, and can be saved from there. */
const removed: Scenario<SqliteStore> = {
  name: 'SQLite: the file removed under load, and saved from /proc',
  async play(stage, store) {
    if (process.platform !== 'linux') {
      stage.leftOut = 'only Linux gives access to an open file without a name';
      return;
    }
    const service = await serviceOn(stage, store);
    const load = await stage.load([service]);
    await stage.letRun(2);
    load.fault();
    await rm(store.file);
    await expectUnavailable(stage, service, load);
    await copyFile(await openFile(service.pid, `${store.file} (deleted)`), `${store.file}-saved`);
    await service.terminate();
    await rename(`${store.file}-saved`, store.file);
    await service.start();
    load.healed();
    await stage.letRun(2);
  },
};

async function openFile(pid: number, target: string): Promise<string> {
  const directory = `/proc/${pid}/fd`;
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    // A descriptor may be closed between the two calls.
    if ((await readlink(path).catch(() => '')) === target) return path;
  }
  throw new Error(`the service has no ${target} open`);
}

const DISK_BYTES = 64 * 1024 * 1024;

/** Does what `xfs_io -c shutdown` does: every later call on the file system fails with EIO. */
const SHUT_DOWN = `import fcntl, os, struct, sys
EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587d, 2
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), EXT4_IOC_SHUTDOWN, struct.pack('I', NO_LOG_FLUSH))`;

const diskGone: Scenario<SqliteStore> = {
  name: 'SQLite: the disk shut down under it, and mounted again',
  async play(stage, store) {
    const image = stage.owned.use(await temporaryDirectory('disk'));
    const disk = { image: join(image.path, 'ext4'), directory: store.directory };
    try {
      await truncateNew(disk.image);
      await run('mkfs.ext4', ['-q', disk.image]);
      await mount(stage, disk);
      // Shows whether this machine can do it at all.
      await shutDown(disk.directory);
      await unmount(disk.directory);
      await mount(stage, disk);
    } catch (error) {
      const [why] = String(error).split('\n');
      stage.leftOut = `no disk can be shut down here (that needs root, a loop device, ext4 and python3): ${why}`;
      return;
    }
    const service = await serviceOn(stage, store);
    const load = await stage.load([service]);
    await stage.letRun(2);
    load.fault();
    // Linux may report a sync as done that a shutdown has cut short: see sync-race.py. So none is in progress.
    await service.whileStopped(() => shutDown(disk.directory));
    await expectUnavailable(stage, service, load);
    await stage.letRun(2);
    await service.kill();
    await unmount(disk.directory);
    await mount(stage, disk);
    await service.start();
    load.healed();
    await stage.letRun(2);
  },
};

type Disk = { readonly image: string; readonly directory: string };

async function truncateNew(path: string): Promise<void> {
  await run('touch', [path]);
  await truncate(path, DISK_BYTES);
}

async function mount(stage: Stage, { image, directory }: Disk): Promise<void> {
  await run('mount', ['-o', 'loop', image, directory]);
  const unmounting = afterDeath(['umount', '--lazy', directory]);
  stage.owned.defer(async () => {
    unmounting.cancel();
    // The scenario may have unmounted it.
    await unmount(directory).catch(() => undefined);
  });
}

async function unmount(directory: string): Promise<void> {
  await run('umount', ['--lazy', directory]);
}

async function shutDown(directory: string): Promise<void> {
  await run('python3', ['-c', SHUT_DOWN, directory]);
}

/** Requests fail with 503, and soon so does /readyz, but not /livez. */
async function expectUnavailable(stage: Stage, service: ServiceProcess, load: Load): Promise<void> {
  await load.meets503();
  const begun = performance.now();
  await until('a /readyz that fails', async () => (await ask(`${service.url}/readyz`)).status === 503);
  stage.bar('until /readyz failed', performance.now() - begun, 2_000);
  await stage.expectAlive(service);
}

export const SQLITE_FILE_SCENARIOS: readonly Scenario<SqliteStore>[] = [removed, diskGone];
