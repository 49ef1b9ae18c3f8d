import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterDeath } from './after-death.ts';

export type TemporaryDirectory = AsyncDisposable & {
  readonly path: string;
  /** Removes the directory and its contents. Safe to call again. */
  readonly remove: () => Promise<void>;
};

/** A new directory, which is removed at the latest when this process ends. See `testDirectory` for tests. */
export async function temporaryDirectory(name: string): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), `petstore-${name}-`));
  // Servers that are killed at the same moment need time to close their files.
  const removal = afterDeath(['sh', '-c', 'sleep 1; rm -rf "$1"', 'sh', path]);
  const remove = async () => {
    await rm(path, { recursive: true, force: true });
    removal.cancel();
  };
  return { path, remove, [Symbol.asyncDispose]: remove };
}
