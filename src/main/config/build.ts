import { isSea } from 'node:sea';
import packageJson from '../../../package.json' with { type: 'json' };

/** The commit of a bundle, which `scripts/bundle.ts` puts in its place. A clone has none. */
declare const BUNDLED_COMMIT: string | undefined;

const isClone = typeof BUNDLED_COMMIT === 'undefined';
const installed = isSea() ? process.argv0 : 'petstore';

/** How a user calls this program, for hints. A single executable is named as it was called. */
export const PROGRAM = isClone ? 'bin/petstore' : installed;

/** Which build runs: its version, and the first digits of its commit. `unknown` in a clone, where git knows it. */
export function readBuild() {
  return { version: packageJson.version, commit: isClone ? 'unknown' : BUNDLED_COMMIT.slice(0, 12) };
}
