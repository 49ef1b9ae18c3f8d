import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterDeath } from './after-death.ts';

export type TemporaryDirectory = AsyncDisposable & {
  readonly path: string;
  /** Removes it with all that is in it. May be called again. */
  readonly remove: () => Promise<void>;
};

/** A new directory that does not outlive this process. */
export async function temporaryDirectory(name: string): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), `petstore-${name}-`));
  // A server that is killed at the same moment must have let go of it.
  const removal = afterDeath(['sh', '-c', 'sleep 1; rm -rf "$1"', 'sh', path]);
  const remove = async () => {
    await rm(path, { recursive: true, force: true });
    removal.cancel();
  };
  return { path, remove, [Symbol.asyncDispose]: remove };
}
