import { readdir, readlink } from 'node:fs/promises';

/** The files in this directory that this process has open. The list is in /proc, which only Linux has. */
export async function openFilesIn(directory: string): Promise<readonly string[]> {
  const descriptors = await readdir('/proc/self/fd');
  // `readdir` had a descriptor of its own, which is closed now, so `readlink` rejects for it.
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return targets.filter((target) => target.startsWith(directory));
}
