import { chmod } from 'node:fs/promises';

/**
 * Runs `work` while the directory has this mode. Permissions do not restrict root, so a process of root becomes an
 * ordinary user (65534) during the work.
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
