import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { StorageSetupError } from '../../application/ports/storage-errors.ts';

/** Only Linux has it. */
const MOUNTINFO = '/proc/self/mountinfo';

type Mount = { readonly point: string; readonly type: string };

/**
 * Refuses a file that is itself mounted, as by `docker run --volume FILE:FILE`. What SQLite writes beside it is then on
 * another file system. The `-wal`, which can hold every pet, would end with the container.
 *
 * @param file with symbolic links resolved
 * @throws {StorageSetupError}
 */
export function refuseMounted(file: string): void {
  if (currentMountOf(file)?.point !== file) return;
  throw new StorageSetupError(
    `the SQLite file ${file} is mounted as a file, and what is beside it would be lost with the container; ` +
      `mount the directory, never the file: --volume DIRECTORY:${dirname(file)}`,
  );
}

/** One line if an existing file is in a container's own layer or in memory, otherwise `undefined`. */
export function mountWarning(path: string): string | undefined {
  const file = realpathSync(path);
  const { type = '' } = currentMountOf(file) ?? {};
  if (!['overlay', 'tmpfs'].includes(type)) return undefined;
  return (
    `the SQLite file ${file} is on ${type}: its pets end with the container or the system; ` +
    `mount a volume: --volume NAME:${dirname(file)}`
  );
}

function currentMountOf(file: string): Mount | undefined {
  return existsSync(MOUNTINFO) ? mountOf(file, readFileSync(MOUNTINFO, 'utf8')) : undefined;
}

/**
 * The mount that a path is on.
 *
 * @param mountinfo https://man7.org/linux/man-pages/man5/proc_pid_mountinfo.5.html
 */
export function mountOf(path: string, mountinfo: string): Mount | undefined {
  const lines = mountinfo.matchAll(/^(?:\S+ ){4}(\S+) .*? - (\S+) /gm);
  const mounts = Array.from(lines, ([, point = '', type = '']): Mount => ({ point: unescaped(point), type }));
  const above = mounts.filter(({ point }) => `${path}/`.startsWith(`${point.replace(/\/$/, '')}/`));
  // Of two at the same point, the later one is seen.
  return above.toSorted((a, b) => a.point.length - b.point.length).at(-1);
}

/** White space and backslashes are in octal. */
function unescaped(point: string): string {
  return point.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}
