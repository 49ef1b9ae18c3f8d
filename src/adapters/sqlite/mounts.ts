import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';

/** Only on Linux: https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html */
const MOUNTINFO = '/proc/self/mountinfo';

/**
 * The file systems that several machines can use at the same time: see docs/reference/storages.md#file-systems.
 * `fuseblk` is not here, because it is a disk of this machine. WAL needs shared memory: https://www.sqlite.org/wal.html
 */
const SHARED_TYPE =
  /^(?:nfs4?|cifs|smb\w*|9p|afs|ceph|lustre|beegfs|virtiofs|vboxsf|prl_fs|fakeowner|fuse|fuse\..*)$/;

/**
 * Refuses a file that is itself mounted, as by `docker run --volume FILE:FILE`. The `-wal` beside it can hold every
 * pet, and would be lost with the container.
 *
 * @param file with symbolic links resolved
 * @throws {StorageSetupError}
 */
export function refuseMounted(file: string): void {
  if (mountOf(file).point !== file) return;
  throw new StorageSetupError(
    `the SQLite file ${file} is mounted as a file, and the files beside it would be lost with the container; ` +
      `mount the directory, never the file: --volume DIRECTORY:${dirname(file)}`,
  );
}

export function warnIfUnfit(file: string, log: StorageLog): void {
  const { type } = mountOf(file);
  if (type === 'tmpfs')
    log.warn(`the SQLite file ${file} is in memory (tmpfs), which a restart clears; put it on a disk`);
  if (type === 'overlay')
    log.warn(
      `the SQLite file ${file} is in the layer of a container (overlay), and its pets are lost with it; ` +
        `mount a volume: --volume NAME:${dirname(file)}`,
    );
  if (SHARED_TYPE.test(type))
    log.warn(
      `the SQLite file ${file} is on a network or shared file system (${type}), whose locks may not keep a second ` +
        'service out; put it on a disk of this machine',
    );
}

/**
 * Returns the mount with the longest path that contains the file. Of several, the last mount has the file.
 *
 * @param mountinfo its fifth field is the mount point, with white space and backslashes in octal
 */
export function mountOf(file: string, mountinfo = readMountinfo()) {
  let mount = { point: '', type: '' };
  for (const [, escaped = '', type = ''] of mountinfo.matchAll(/^(?:\S+ ){4}(\S+) .*? - (\S+)/gm)) {
    const point = escaped.replaceAll(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number(`0o${code}`)));
    const containsFile = `${file}/`.startsWith(point.replace(/\/?$/, '/'));
    if (containsFile && point.length >= mount.point.length) mount = { point, type };
  }
  return mount;
}

function readMountinfo(): string {
  return existsSync(MOUNTINFO) ? readFileSync(MOUNTINFO, 'utf8') : '';
}
