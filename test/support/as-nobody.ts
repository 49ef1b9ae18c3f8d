import { chmod } from 'node:fs/promises';

/**
 * Runs `work` while the directory has the permissions `mode`. Permissions do not restrict the user root. A process of
 * root therefore acts as an ordinary user during the work: as the user `nobody`, whose id is 65534.
 */
export async function asNobody<T>(directory: string, mode: number, work: () => Promise<T>): Promise<T> {
  const { geteuid, seteuid } = process;
  const isRoot = geteuid?.() === 0;
  await chmod(directory, mode);
  if (isRoot) seteuid?.(65_534);
  try {
    return await work();
  } finally {
    if (isRoot) seteuid?.(0);
    await chmod(directory, 0o700);
  }
}
