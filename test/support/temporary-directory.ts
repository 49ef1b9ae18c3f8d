import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAtProcessEnd } from './after-death.ts';

export type TemporaryDirectory = AsyncDisposable & {
  readonly path: string;
  /** Removes the directory and its contents. A second call does nothing. */
  readonly remove: () => Promise<void>;
};

const MEMORY_FOLDER = '/dev/shm';
const MIN_FREE_BYTES = 4 * 2 ** 30;

/**
 * Creates a directory, which is removed at the latest when this process ends. Use `testDirectory` in a test.
 *
 * @param options.inMemory whether to prefer a file system in memory, where fsync takes no time. Default: false
 */
export async function temporaryDirectory(
  name: string,
  { inMemory = false }: { readonly inMemory?: boolean } = {},
): Promise<TemporaryDirectory> {
  const parent = inMemory && (await hasRoom(MEMORY_FOLDER)) ? MEMORY_FOLDER : tmpdir();
  const path = await mkdtemp(join(parent, `petstore-${name}-`));
  // The removal waits one second, because servers that are killed at the same moment need time to close their files.
  const removal = runAtProcessEnd(['sh', '-c', 'sleep 1; rm -rf "$1"', 'sh', path]);
  const remove = async () => {
    await rm(path, { recursive: true, force: true });
    removal.cancel();
  };
  return { path, remove, [Symbol.asyncDispose]: remove };
}

async function hasRoom(directory: string): Promise<boolean> {
  // Only Linux has `/dev/shm`, and in a container it is often small.
  const system = await statfs(directory).catch(() => undefined);
  return system !== undefined && system.bavail * system.bsize >= MIN_FREE_BYTES;
}
