import { chmod } from 'node:fs/promises';

/**
 * Works in a directory with this mode. Permissions do not restrict root, so root becomes an ordinary user (65534)
 * during the work.
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
