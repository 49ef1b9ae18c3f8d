import { readdir, readlink } from 'node:fs/promises';

/** The files below this directory that this process has open. Only Linux has the list, in /proc. */
export async function openFilesIn(directory: string): Promise<readonly string[]> {
  const descriptors = await readdir('/proc/self/fd');
  // One of them was for reading the list.
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(directory));
}
