import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Compiles a library of this directory for LD_PRELOAD. Linux only; needs `cc`.
 *
 * @param directory for the library
 * @returns its path
 * @throws {Error} when it cannot be compiled
 */
export async function preloaded(directory: string, name: 'slow-flush' | 'refused-locks'): Promise<string> {
  const library = join(directory, `${name}.so`);
  const source = join(import.meta.dirname, `${name}.c`);
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  return library;
}

/**
 * The environment of a program whose every `fsync` and `fdatasync` takes longer by this time. Linux only; needs `cc`.
 *
 * @param directory for the library
 * @throws {Error} when it cannot be compiled
 */
export async function slowFlush(directory: string, ms: number): Promise<Readonly<Record<string, string>>> {
  return { LD_PRELOAD: await preloaded(directory, 'slow-flush'), FLUSH_MS: String(ms) };
}
