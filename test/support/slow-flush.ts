import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * The environment of a program whose every `fsync` and `fdatasync` takes longer by this time. Linux only; needs `cc`.
 *
 * @param directory for the library
 * @throws {Error} when it cannot be compiled
 */
export async function slowFlush(directory: string, ms: number): Promise<Readonly<Record<string, string>>> {
  const library = join(directory, 'slow-flush.so');
  const source = join(import.meta.dirname, 'slow-flush.c');
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  return { LD_PRELOAD: library, FLUSH_MS: String(ms) };
}
