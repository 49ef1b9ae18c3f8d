import { isSea } from 'node:sea';
import packageJson from '../../../package.json' with { type: 'json' };

/** `scripts/bundle.ts` inserts the commit into a bundle. A clone has no such constant. */
declare const BUNDLED_COMMIT: string | undefined;

const isClone = typeof BUNDLED_COMMIT === 'undefined';
const installedName = isSea() ? process.argv0 : 'petstore';

/** The command that starts this program. A single executable has the name that the user called. */
export const PROGRAM = isClone ? 'bin/petstore' : installedName;

/** `commit` is `unknown` in a clone. `git log` shows it there. */
export function readBuild() {
  return { version: packageJson.version, commit: isClone ? 'unknown' : BUNDLED_COMMIT.slice(0, 12) };
}
