import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Compiles a C file beside this file to a library for LD_PRELOAD. It works only on Linux, and needs `cc`.
 *
 * @param directory the directory in which the library is written
 * @returns the path of the library
 * @throws {Error} when the library cannot be compiled
 */
export async function compileLibrary(
  directory: string,
  name: 'slow-flush' | 'refused-locks',
): Promise<string> {
  const library = join(directory, `${name}.so`);
  const source = join(import.meta.dirname, `${name}.c`);
  await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, source, '-ldl']);
  return library;
}

/**
 * The environment variables with which every `fsync` and `fdatasync` of a program takes `ms` milliseconds longer. It
 * works only on Linux, and needs `cc`.
 *
 * @param directory the directory in which the preloaded library is written
 * @throws {Error} when the library cannot be compiled
 */
export async function slowFlushVariables(
  directory: string,
  ms: number,
): Promise<Readonly<Record<string, string>>> {
  return { LD_PRELOAD: await compileLibrary(directory, 'slow-flush'), FLUSH_MS: String(ms) };
}
