import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/**
 * The absolute path without symbolic links. The file and its directory may be missing.
 *
 * @throws the error of `node:fs`
 */
export function resolveLinks(path: string): string {
  // Unlike existsSync, it throws at a link that leads to itself.
  if (statSync(path, { throwIfNoEntry: false }) !== undefined) return realpathSync(path);
  const directory = dirname(resolve(path));
  if (statSync(directory, { throwIfNoEntry: false }) === undefined) return resolve(path);
  const real = join(realpathSync(directory), basename(path));
  const isLink = lstatSync(real, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? resolveLinks(resolve(dirname(real), readlinkSync(real))) : real;
}
