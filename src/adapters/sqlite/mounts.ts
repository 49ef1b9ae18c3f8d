import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';
import type { StorageLog } from '../../application/ports/storage-health.ts';

/** Only Linux has it. https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html */
const MOUNTINFO = '/proc/self/mountinfo';

/** Of file systems that do not last: https://man7.org/linux/man-pages/man2/statfs.2.html */
const OVERLAY = 0x794c7630;
const TMPFS = 0x01021994;

/**
 * Refuses a file that is itself mounted, as by `docker run --volume FILE:FILE`. What SQLite writes beside it is then on
 * another file system. The `-wal`, which can hold every pet, would end with the container.
 *
 * @param file with symbolic links resolved
 * @throws {StorageSetupError}
 */
export function refuseMounted(file: string): void {
  if (!existsSync(MOUNTINFO) || !isMountPoint(file, readFileSync(MOUNTINFO, 'utf8'))) return;
  throw new StorageSetupError(
    `the SQLite file ${file} is mounted as a file, and what is beside it would be lost with the container; ` +
      `mount the directory, never the file: --volume DIRECTORY:${dirname(file)}`,
  );
}

/** Warns of an existing file in a container's own layer or in memory. */
export function warnIfVolatile(file: string, log: StorageLog): void {
  const { type } = statfsSync(file);
  if (type === TMPFS)
    log.warn(`the SQLite file ${file} is in memory (tmpfs), where no pet lasts; put it on a disk`);
  if (type === OVERLAY)
    log.warn(
      `the SQLite file ${file} is in the layer of a container (overlay), and its pets end with that; ` +
        `mount a volume: --volume NAME:${dirname(file)}`,
    );
}

/** @param mountinfo its fifth field is the mount point, with white space and backslashes in octal */
export function isMountPoint(file: string, mountinfo: string): boolean {
  const escaped = file.replaceAll(
    /[ \t\n\\]/g,
    (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return mountinfo.split('\n').some((line) => line.split(' ')[4] === escaped);
}
