import { readFileSync } from 'node:fs';
import { isSea } from 'node:sea';
import packageJson from '../../../package.json' with { type: 'json' };

/** The commit of a bundle, which `scripts/bundle.ts` puts in its place. A clone has none. */
declare const BUNDLED_COMMIT: string | undefined;

const isClone = typeof BUNDLED_COMMIT === 'undefined';
const installed = isSea() ? process.argv0 : 'petstore';

/** How a user calls this program, for hints. A single executable is named as it was called. */
export const PROGRAM = isClone ? 'bin/petstore' : installed;

/** Which build runs: its version, and the first digits of its commit, or `unknown`. */
export function readBuild() {
  const commit = isClone ? readCommit(new URL('../../../.git/', import.meta.url)) : BUNDLED_COMMIT;
  return { version: packageJson.version, commit: commit.slice(0, 12) };
}

/** The commit that is checked out, read without git. `unknown` without a repository, and in a linked worktree. */
export function readCommit(gitDirectory: URL): string {
  const read = (file: string): string => {
    try {
      return readFileSync(new URL(file, gitDirectory), 'utf8');
    } catch {
      return '';
    }
  };
  const head = read('HEAD');
  const ref = /^ref: (\S+)/.exec(head)?.[1];
  const packed = () => read('packed-refs').split('\n');
  const text = ref === undefined ? head : read(ref) || packed().find((line) => line.endsWith(` ${ref}`));
  return /^[0-9a-f]{40,}/.exec(text ?? '')?.[0] ?? 'unknown';
}
